import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { STORE_FAULTS } from '../../../sidecar/errors.ts'
import { OBSTACLES } from '../../../sidecar/operator/page/obstacles.ts'
import { serveOperatorPort } from '../../support/operator-port.ts'
import { TYPESCRIPT } from '../../support/typescript/options.ts'
import { codesIn, namesIn, rowsIn, textOf } from './page.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const TROUBLE = 'troubleshooting.md'
const source = (path: string) => readFileSync(join(ROOT, 'sidecar', path), 'utf8')
const SOURCES = readdirSync(join(ROOT, 'sidecar'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map(source)

/** Returns the events that the sources always log at one of `levels`. {@link TOLD} has the others. */
function eventsAt(...levels: readonly string[]): readonly string[] {
  const direct = new RegExp(`\\b(?:log|announcements)\\.(?:${levels.join('|')})\\(\\s*'([a-z-]+)'`, 'g')
  return [...new Set(SOURCES.flatMap((text) => [...text.matchAll(direct)].map(([, event = '']) => event)))]
}

/** Events that are logged by `report` or `die`, which choose the level at run time. */
const TOLD = { warnings: ['upstream-down', 'start-failed', 'crashed'], others: ['upstream-login', 'upstream-moves'] }

describe('The documents for operators', () => {
  // Shows: sidecar C12.10.
  it("the operators' documents explain exactly the events logged as warning or error", () => {
    const events = namesIn(textOf(TROUBLE, '## Events'), 'event')
    const logged = [...eventsAt('warn', 'error'), ...TOLD.warnings]
    // A dead token is no fault, but it is one if all phones of a platform have dead tokens.
    expect(events).to.have.members([...logged, 'push-token-gone'])
  })

  // Shows: sidecar C12.12.
  it('the documents list exactly the events logged as info or debug', () => {
    const rows = rowsIn(textOf('every-day.md', '## The log'), 'event')
    const shown = (level: string) => rows.filter((row) => row[1] === level).flatMap(([cell]) => codesIn(cell))
    expect(shown('info')).to.have.members([...eventsAt('info'), ...TOLD.others])
    expect(shown('debug')).to.have.members([...eventsAt('debug')])
  })

  it('the documents cover every log event whose level is chosen at run time', () => {
    const chosen = /\b(?:report|die)\(\s*'([a-z-]+)'/g
    const events = SOURCES.flatMap((text) => [...text.matchAll(chosen)].map(([, event]) => event))
    expect(new Set(events)).to.deep.equal(new Set([...TOLD.warnings, ...TOLD.others]))
  })

  // Shows: sidecar C12.12.
  it('the documents explain each code of database errors and start failures', () => {
    expect(namesIn(textOf(TROUBLE, '## Codes of the database'), 'code')).to.have.members(Object.keys(STORE_FAULTS))
    const addresses = source('api/http-listener.ts').match(/^ {2}E[A-Z]+(?=:)/gm) ?? []
    const start = ['packages_missing', ...addresses.map((code) => code.trim())]
    expect(source('operator/commands/packages.ts')).to.include("'packages_missing'")
    expect(namesIn(textOf(TROUBLE, '## Codes at the start'), 'code')).to.have.members(start)
  })

  it('the documents quote gateway answers as the sidecar logs them', () => {
    const quoted = namesIn(textOf(TROUBLE, '## Gateway answers'), 'it says')
    const push = SOURCES.join('\n')
    for (const words of quoted) expect(push, words).to.include(words)
    const reasons = [...source('push/apns/apns.ts').matchAll(/^ {2}([A-Z]\w+): \[/gm)].map(([, reason]) => reason)
    expect(quoted).to.include.members(reasons)
  })

  // Shows: sidecar C12.12.
  it('the documents list exactly the reasons that /readyz can give', () => {
    expect(namesIn(textOf('every-day.md', '## Readiness'), 'reason')).to.have.members(Object.keys(OBSTACLES))
  })

  // Shows: sidecar C12.12.
  it('the documents list every path of the operator port with all its error codes', async () => {
    const admin = await serveOperatorPort()
    try {
      const { message } = (await (await fetch(`${admin.url}/nothing`)).json()) as { message: string }
      const served = message.match(/\/[\w/]*/g) ?? []
      const shown = namesIn(textOf('every-day.md', "## The operator's port"), 'path').map((path) =>
        path.replace('POST ', ''),
      )
      expect(shown).to.have.members(served)
    } finally {
      await admin.close()
    }
    const answers = [
      ...rowsIn(textOf('backups-and-upgrades.md', '## Back up'), 'answer of `/backup`'),
      ...rowsIn(textOf('every-day.md', '## See one station'), 'answer of `/stations` and `/notify`'),
      ...rowsIn(textOf('every-day.md', '## End a station'), 'answer of `/unregister`'),
    ]
    const codes = answers.filter(([, status]) => status !== '200').flatMap(([cell]) => codesIn(cell))
    const sources = ['server', 'admin-pages', 'station-answers'].map((name) => source(`operator/${name}.ts`)).join('')
    const codesInSource = sources.match(/(?<=error: ')[a-z_]+/g) ?? []
    // Codes that any other page of the port answers too.
    expect(new Set(codesInSource)).to.deep.equal(new Set([...codes, 'not_found', 'internal', 'misdirected']))
  })

  // Shows: sidecar C12.12.
  it('the documents list every option and exit code of the command', () => {
    const main = join(ROOT, 'sidecar/main.ts')
    const { stdout } = spawnSync(process.execPath, [...TYPESCRIPT, main, '--help'], { cwd: ROOT, encoding: 'utf8' })
    const options = [...stdout.matchAll(/^ {2}(--[\w-]+(?: [A-Z]+)?) /gm)].map(([, option]) => option)
    const command = textOf('every-day.md', '## The command')
    expect(namesIn(command, 'option')).to.have.members(options)
    const codes = [
      ...(source('main.ts') + source('command-line.ts')).matchAll(/^(?:export )?const EXIT_\w+ = (\d+)$/gm),
    ].map(([, code]) => code)
    expect(rowsIn(command, 'exit code').map(([code]) => code)).to.have.members(['0', '1', ...codes])
  })
})
