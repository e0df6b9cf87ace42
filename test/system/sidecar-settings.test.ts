import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { sidecarProcesses } from '../support/sidecar-processes.ts'

describe('the sidecar as a process, and its settings', () => {
  const its = sidecarProcesses()

  it('starts among the variables of an orchestrator, and warns of each that names no setting', async () => {
    const foreign = { SIDECAR_SERVICE_HOST: '10.0.0.1', SIDECAR_PORT: 'tcp://10.0.0.1:8080', SIDECAR_LOGLEVEL: 'debug' }
    const file = await its.configure()
    const sidecar = its.start(['--config', file], foreign)
    await sidecar.logged('listening')
    const warnings = sidecar.lines.filter(({ event }) => event === 'config-ignored')
    expect(warnings.map(({ level, path }) => [level, path])).to.have.deep.members([
      ['warn', 'SIDECAR_SERVICE_HOST'],
      ['warn', 'SIDECAR_PORT'],
      ['warn', 'SIDECAR_LOGLEVEL'],
    ])
    expect(warnings.find(({ path }) => path === 'SIDECAR_LOGLEVEL')?.msg).to.include('Did you mean SIDECAR_LOG_LEVEL?')

    const check = ['--import', 'tsx', 'sidecar/main.ts', '--check', '--config', file]
    const { status, stdout } = spawnSync(process.execPath, check, {
      encoding: 'utf8',
      env: { ...process.env, SIDECAR_LOGLEVEL: 'debug' },
    })
    expect(status).to.equal(0)
    expect(stdout).to.match(/^Warning: SIDECAR_LOGLEVEL: .* Did you mean SIDECAR_LOG_LEVEL\?\n.* is fine\.\n$/)
  })

  for (const level of ['warn', 'error', 'silent']) {
    it(`says where it listens at the log level ${level} too`, async () => {
      const sidecar = its.start(['--config', await its.configure({ log: { level } })])
      const { url, adminUrl } = await sidecar.logged('listening')
      expect([url, adminUrl].every((one) => /^http:\/\/127\.0\.0\.1:\d+$/.test(String(one)))).to.equal(true)
    })
  }
})
