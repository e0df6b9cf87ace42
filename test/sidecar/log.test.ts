import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { createLog, LOG_LEVELS, type LogLevel, shortToken } from '../../sidecar/log.ts'

describe('The log of the sidecar', () => {
  function logged(level: LogLevel, write: (log: ReturnType<typeof createLog>) => void) {
    const lines: string[] = []
    write(createLog(level, { write: (line) => void lines.push(line) }))
    return lines
  }

  it('each log line fits the schema of log lines', () => {
    const schema = JSON.parse(readFileSync(new URL('../../fixtures/log-line.schema.json', import.meta.url), 'utf8'))
    const validate = new Ajv2020({ strict: false }).compile(schema)
    const lines = logged('debug', (log) => {
      for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]('something-was', 'It was.', { n: 1 })
    })
    const parsed = lines.map((line) => JSON.parse(line))
    expect(parsed.filter((line) => !validate(line))).to.deep.equal([])
    expect(parsed.map(({ level, component, event, msg, n }) => [level, component, event, msg, n])).to.deep.equal(
      ['debug', 'info', 'warn', 'error'].map((level) => [level, 'sidecar', 'something-was', 'It was.', 1]),
    )
  })

  // Shows: sidecar O2.6.
  it('log.configure() changes the level and format of an existing log', () => {
    const lines: string[] = []
    const log = createLog('info', { write: (line) => void lines.push(line) })
    log.debug('first-was', 'It was.')
    expect(log.isDebug).to.equal(false)
    log.configure({ level: 'debug', format: 'text' })
    expect(log.isDebug).to.equal(true)
    log.debug('second-was', 'It was.', { station: 'N0CALL', text: 'a "b" c', n: 1, list: ['x'] })
    log.configure({ level: 'silent', format: 'json' })
    log.error('third-was', 'It was.')
    expect(lines).to.have.length(1)
    expect(lines[0]).to.match(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z debug second-was: It was\. station=N0CALL text="a \\"b\\" c" n=1 list=\["x"\]\n$/,
    )
  })

  // Shows: sidecar C1.26.
  it('writes no line below log.level, and no line at all if that is silent', () => {
    const counts = LOG_LEVELS.map((level) => {
      const write = (log: ReturnType<typeof createLog>) => {
        for (const each of ['debug', 'info', 'warn', 'error'] as const) log[each]('something-was', 'It was.')
      }
      return [level, logged(level, write).length]
    })
    expect(counts).to.deep.equal([
      ['debug', 4],
      ['info', 3],
      ['warn', 2],
      ['error', 1],
      ['silent', 0],
    ])
  })

  // Shows: sidecar C6.5.
  it('removes line breaks, terminal codes and direction marks from logged text', () => {
    const evil = 'a\r\n{"level":"error"}\u001b[31m\u0085\u2028\u202eb'
    const cause = Object.assign(new Error(evil), { code: 'E_CAUSE' })
    const error = new Error(evil, { cause })
    const [line = '', ...more] = logged('info', (log) => log.info('evil', evil, { evil, list: [evil], error }))
    expect(more).to.deep.equal([])
    expect(line.trimEnd()).to.match(/^[\x20-\x7e]+$/)
    expect(line).to.not.match(/\\u|\\r|\\n/)
    const harmless = 'a {"level":"error"} [31m b'
    const parsed = JSON.parse(line)
    expect(parsed).to.deep.include({ msg: harmless, evil: harmless, list: [harmless] })
    expect(parsed.error).to.deep.equal({
      name: 'Error',
      message: harmless,
      cause: { name: 'Error', message: harmless, code: 'E_CAUSE' },
    })
  })

  // Shows: sidecar C6.6.
  it('shows only the last 6 characters of a push token', () => {
    expect(shortToken('dGhpcyBpcyBhIHRva2Vu')).to.equal('…Rva2Vu')
  })
})
