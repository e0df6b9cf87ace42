import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { draftFor, mistakeIn } from './configuration.ts'
import type { Conversation } from './conversation.ts'
import { CERTIFICATE, type FoundFiles, findFiles } from './found-files.ts'
import { type Answers, QUESTIONS, type Question } from './questions.ts'

export type InitOutcome =
  | { readonly kind: 'written'; readonly file: string }
  /** A flag has a value that cannot be used. */
  | { readonly kind: 'wrong_flag'; readonly reason: string }
  /** Nothing was written: the file exists, its folder cannot be written, or the operator ended the input. */
  | { readonly kind: 'not_written'; readonly reason: string }

/** The operator enters this text to decline the suggested answer. The setting then keeps its default. */
const NO_ANSWER = '-'

/** The mode of the configuration file. The service may read the file through its group. */
const FILE_MODE = 0o640
/** The configuration that the systemd unit reads. */
const SERVICE_FILE = '/etc/mesh-companion/sidecar.json'
const FOLDER_MODE = 0o750

/**
 * Writes `sidecar.json`, from flags and the operator's answers to other questions. Computes the passcode, copies no
 * keys, and overwrites no file.
 */
export async function init(directory: string, flagValues: Answers, conversation: Conversation): Promise<InitOutcome> {
  const folder = resolve(directory)
  const file = join(folder, 'sidecar.json')
  if (existsSync(file)) return existsAlready(file)
  const files = await findFiles(folder)
  const flags = { ...flagValues, ...fileFlags(flagValues) }
  const answers = await answerAll(flags, files, folder, conversation)
  if ('kind' in answers) return answers
  try {
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
    await writeFile(file, `${JSON.stringify(draftFor(answers, files, folder), null, 2)}\n`, { flag: 'wx' })
    await chmod(file, FILE_MODE)
  } catch (error) {
    // Another process may have created the file after this command had checked that it is missing.
    if (existsSync(file)) return existsAlready(file)
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    const reason = `${file} cannot be written (${code}). Run the command as a user that may write there, for example with sudo.`
    return { kind: 'not_written', reason }
  }
  if (!files.hasCertificate)
    conversation.say(
      `${folder} does not have both ${CERTIFICATE.certFile} and ${CERTIFICATE.keyFile}, so only a proxy on this machine will reach the API.`,
    )
  return { kind: 'written', file }
}

function existsAlready(file: string): InitOutcome {
  const reason = `${file} exists, and --init overwrites nothing. Name another folder, or move the file away.`
  return { kind: 'not_written', reason }
}

/** Returns what the operator should do after the check of a new configuration. */
export function nextStep(file: string, isFine: boolean): string {
  const command = `mesh-companion-sidecar --config ${file}`
  // Only root and the service may read the service's configuration.
  const check = `${file === SERVICE_FILE ? 'sudo ' : ''}${command} --check --live`
  if (!isFine) return `Next: correct in ${file} what the lines above say, then run ${check}`
  return file === SERVICE_FILE ? 'Next: sudo systemctl enable --now mesh-companion-sidecar' : `Next: ${command}`
}

/**
 * Returns the file flags that exist relative to the working directory, as absolute paths. Others are relative to the
 * configuration's folder.
 */
function fileFlags(flagValues: Answers): Answers {
  const entries = QUESTIONS.filter(({ isFile }) => isFile).flatMap(({ flag }) => {
    const name = flagValues[flag]
    return name !== undefined && existsSync(name) ? [[flag, resolve(name)]] : []
  })
  return Object.fromEntries(entries)
}

async function answerAll(
  flags: Answers,
  files: FoundFiles,
  folder: string,
  conversation: Conversation,
): Promise<Answers | Exclude<InitOutcome, { kind: 'written' }>> {
  const check = (question: Question, answers: Answers) => mistakeIn(question, answers, files, folder)
  let answers: Answers = {}
  for (const question of QUESTIONS) {
    const { flag, dependsOn } = question
    if (dependsOn !== undefined && !answers[dependsOn]) {
      if (flags[flag] === undefined) continue
      return { kind: 'wrong_flag', reason: `--${flag} is given without --${dependsOn}` }
    }
    const fallback = fallbackFor(question, files, answers, flags, conversation)
    if (flags[flag] === undefined && conversation.isInteractive) {
      const answer = await askUntilUsable(question, fallback, answers, check, conversation)
      if (answer === undefined)
        return { kind: 'not_written', reason: 'The input ended before the last question, so nothing was written.' }
      answers = { ...answers, [flag]: answer }
      continue
    }
    answers = { ...answers, [flag]: flags[flag] ?? fallback }
    const mistake = check(question, answers)
    if (mistake !== undefined) return { kind: 'wrong_flag', reason: `--${flag}: ${mistake}` }
  }
  return answers
}

/**
 * Returns a question's default answer. Without a terminal, a signing key found in the folder only counts if flags set
 * the other APNs settings.
 */
function fallbackFor(
  { flag, fallback }: Question,
  files: FoundFiles,
  answers: Answers,
  flags: Answers,
  { isInteractive }: Conversation,
): string {
  const isComplete = flags['apns-team-id'] !== undefined && flags['apns-topic'] !== undefined
  if (flag === 'apns-key' && !isInteractive && !isComplete) return ''
  return fallback(files, answers) ?? ''
}

/** Asks until the answer passes the check. Returns undefined if the operator ends the input. */
async function askUntilUsable(
  { text, ...question }: Question,
  fallback: string,
  answers: Answers,
  check: (question: Question, answers: Answers) => string | undefined,
  conversation: Conversation,
): Promise<string | undefined> {
  // The questions for key id, team id and topic show no hint "[none]", because a key for APNs needs all three.
  const hint = fallback === '' && question.dependsOn !== undefined ? '' : ` [${fallback || 'none'}]`
  for (;;) {
    const typed = await conversation.ask(`${text}${hint}: `).catch(() => undefined)
    if (typed === undefined) return undefined
    const answer = typed === NO_ANSWER ? '' : typed || fallback
    const mistake = check({ text, ...question }, { ...answers, [question.flag]: answer })
    if (mistake === undefined) return answer
    conversation.say(mistake)
  }
}
