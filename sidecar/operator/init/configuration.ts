import { basename, isAbsolute, join, relative, resolve } from 'node:path'
import { passcodeOf } from '../../aprs/passcode.ts'
import { settingsFrom } from '../../config/reading/load-settings.ts'
import { CERTIFICATE, type FoundFiles } from './found-files.ts'
import { type Answers, QUESTIONS, type Question } from './questions.ts'

/** The folder of system-wide configurations. Services with a configuration there have their data in {@link DATA}. */
const SYSTEM = '/etc'
const DATA = '/var/lib'

/** A configuration before it is checked. */
type Draft = Readonly<Record<string, unknown>>

/**
 * Builds the configuration for these answers, without settings that equal the defaults. Paths inside `folder` are
 * relative to it.
 */
export function draftFor(answers: Answers, files: FoundFiles, folder: string): Draft {
  // Without a certificate, the API listens on loopback, where only a proxy on this machine can reach it.
  const listen = files.hasCertificate ? { host: '::', ...CERTIFICATE } : { trustProxy: ['127.0.0.1'] }
  const database = databaseFor(folder)
  const draft: Record<string, unknown> = { listen, aprsis: {}, ...(database && { database }) }
  for (const question of QUESTIONS) {
    const answer = answers[question.flag]
    if (answer !== undefined && answer !== '') put(draft, question.path.split('.'), settingOf(question, answer, folder))
  }
  if (answers.callsign) put(draft, ['aprsis', 'passcode'], passcodeOf(answers.callsign))
  return draft
}

/**
 * Returns sentences for the operator that explain the mistake in the answer to a question; undefined if the answer is
 * valid.
 */
export function mistakeIn(question: Question, answers: Answers, files: FoundFiles, folder: string): string | undefined {
  const outcome = settingsFrom(JSON.stringify(draftFor(answers, files, folder)), folder)
  if ('settings' in outcome) return undefined
  const problem = outcome.problems.find(({ path }) => path === question.path || path === question.rival)
  return problem && `${problem.path}: ${problem.reason}. ${problem.remedy}`
}

function put(draft: Record<string, unknown>, steps: readonly string[], value: unknown): void {
  const [step = '', ...rest] = steps
  if (rest.length === 0) draft[step] = value
  else {
    const table = (draft[step] ?? {}) as Record<string, unknown>
    draft[step] = table
    put(table, rest, value)
  }
}

function settingOf({ flag, isFile }: Question, answer: string, folder: string): unknown {
  if (flag === 'callsign') return answer.toUpperCase()
  // A text that is no number stays unchanged, so that the check of the configuration refuses it.
  if (flag === 'port') return /^\d+$/.test(answer) ? Number(answer) : answer
  return isFile ? shortPath(answer, folder) : answer
}

/** Returns the path of a file for the configuration: relative to `folder` for a file inside it, otherwise absolute. */
function shortPath(file: string, folder: string): string {
  const path = relative(folder, resolve(folder, file))
  return path.startsWith('..') || isAbsolute(path) ? resolve(folder, file) : path
}

/** Returns a database path below {@link DATA} if `folder` is below `/etc`, where a service must not write. */
function databaseFor(folder: string): string | undefined {
  const path = relative(SYSTEM, folder)
  if (path === '' || path.startsWith('..') || isAbsolute(path)) return undefined
  return join(DATA, basename(folder), 'sidecar.sqlite')
}
