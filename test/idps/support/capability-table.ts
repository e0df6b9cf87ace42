import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CASES, type CaseName } from './cases.ts'

/** Where each run leaves what it found; beside it, the table of all. */
const FOLDER = fileURLToPath(new URL('../../../.ci/output/idps', import.meta.url))

export type Outcome =
  | { readonly kind: 'works'; readonly note?: string }
  | { readonly kind: 'cannot'; readonly reason: string }
  | { readonly kind: 'fails' }

export interface Findings {
  readonly provider: string
  readonly version: string
  readonly cases: Readonly<Partial<Record<CaseName, Outcome>>>
}

/**
 * Writes down what a run found, over what earlier runs of the same version found of other cases, and `.ci/output/idps.md` anew:
 * cases down, providers across, and below it why a provider cannot do what it cannot.
 */
export async function writeFindings(findings: Findings): Promise<void> {
  await mkdir(FOLDER, { recursive: true })
  const file = join(FOLDER, `${findings.provider}.json`)
  const earlier = await readFindings(file).catch(() => undefined)
  const kept = earlier?.version === findings.version ? earlier.cases : {}
  await writeFile(file, JSON.stringify({ ...findings, cases: { ...kept, ...findings.cases } }, null, 2))
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.json')).sort()
  const all = await Promise.all(files.map((name) => readFindings(join(FOLDER, name))))
  await writeFile(`${FOLDER}.md`, tableOf(all))
}

async function readFindings(file: string): Promise<Findings> {
  return JSON.parse(await readFile(file, 'utf8')) as Findings
}

/** Markdown. */
export function tableOf(all: readonly Findings[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const names = Object.keys(CASES) as CaseName[]
  const reasons = all.flatMap(({ provider, version, cases }) =>
    names.flatMap((name) => {
      const outcome = cases[name]
      return outcome?.kind === 'cannot' ? [`- ${provider} ${version}, ${CASES[name]}: ${outcome.reason}`] : []
    }),
  )
  return [
    row(['', ...all.map(({ provider, version }) => `${provider} ${version}`)]),
    row(['---', ...all.map(() => '---')]),
    ...names.map((name) => row([CASES[name], ...all.map(({ cases }) => cellOf(cases[name]))])),
    '',
    ...reasons,
    '',
  ].join('\n')
}

function cellOf(outcome: Outcome | undefined): string {
  switch (outcome?.kind) {
    case 'works':
      return outcome.note === undefined ? 'yes' : `yes: ${outcome.note}`
    case 'cannot':
      return 'cannot'
    case 'fails':
      return '**fails**'
    default:
      return 'not tried'
  }
}
