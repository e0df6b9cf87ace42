import { expect } from 'chai'
import { readEnvironment } from '../../../../sidecar/config/reading/environment.ts'
import { SETTINGS_SCHEMA } from '../../../../sidecar/config/schema.ts'

const read = (env: Record<string, string>) => readEnvironment(env, SETTINGS_SCHEMA)
const overrideOf = (variable: string, text: string) => read({ [variable]: text }).overrides[0]?.value

describe('The environment variables of the sidecar', () => {
  // Shows: sidecar C1.2.
  it('an environment variable names a setting by its path in upper snake case', () => {
    const { overrides, warnings } = read({
      SIDECAR_APRSIS_PASSCODE: '13023',
      SIDECAR_RATE_LIMIT_NEW_STATIONS_PER_HOUR: '5',
      SIDECAR_PUSH_FCM_SERVICE_ACCOUNT_FILE: 'key.json',
      SIDECAR_DATABASE: ':memory:',
    })
    expect(warnings).to.deep.equal([])
    expect(overrides.map(({ steps, value }) => [steps.join('.'), value])).to.deep.equal([
      ['aprsis.passcode', 13023],
      ['rateLimit.newStationsPerHour', 5],
      ['push.fcm.serviceAccountFile', 'key.json'],
      ['database', ':memory:'],
    ])
  })

  it('an environment variable is read with the type that the schema demands', () => {
    expect(overrideOf('SIDECAR_APRSIS_PASSCODE', '-1')).to.equal(-1)
    expect(overrideOf('SIDECAR_APRSIS_TRACK_OUTGOING', 'true')).to.equal(true)
    expect(overrideOf('SIDECAR_HISTORY_DUPLICATE_MINUTES', '0.5')).to.equal(0.5)
    expect(overrideOf('SIDECAR_LISTEN_CERT_FILE', 'null')).to.equal(null)
    expect(overrideOf('SIDECAR_PUSH_APNS_KEY_ID', '1234567890')).to.equal('1234567890')
    expect(overrideOf('SIDECAR_LISTEN_TRUST_PROXY', 'true')).to.equal(true)
    expect(overrideOf('SIDECAR_LISTEN_TRUST_PROXY', '10.0.0.0/8, ::1')).to.deep.equal(['10.0.0.0/8', '::1'])
  })

  it("returns an environment variable as text if it does not fit the setting's type", () => {
    expect(overrideOf('SIDECAR_LISTEN_PORT', '80 80')).to.equal('80 80')
    expect(overrideOf('SIDECAR_LISTEN_PORT', '0x50')).to.equal('0x50')
    expect(overrideOf('SIDECAR_APRSIS_TRACK_OUTGOING', 'yes')).to.equal('yes')
  })

  it('ignores an empty environment variable', () => {
    expect(read({ SIDECAR_APRSIS_HOST: '' })).to.deep.equal({ overrides: [], warnings: [] })
  })

  it('warns of an environment variable that names no setting, and suggests a setting', () => {
    expect(read({ SIDECAR_APRSIS_PASCODE: '1', SIDECAR_SERVICE_HOST: 'x', HOME: '/root' }).warnings).to.deep.equal([
      {
        path: 'SIDECAR_APRSIS_PASCODE',
        reason: 'is an environment variable that names no setting',
        remedy: 'Did you mean SIDECAR_APRSIS_PASSCODE?',
      },
      {
        path: 'SIDECAR_SERVICE_HOST',
        reason: 'is an environment variable that names no setting',
        remedy: 'It is ignored. Variables that begin with SIDECAR_ are settings, such as SIDECAR_APRSIS_PASSCODE.',
      },
    ])
  })

  // Shows: sidecar C13.11.
  it('ignores SIDECAR_ variables that an orchestrator sets for a service, and warns', () => {
    const { overrides, warnings } = read({
      SIDECAR_PORT: 'tcp://10.0.0.1:8080',
      SIDECAR_PORT_8080_TCP_ADDR: '10.0.0.1',
      SIDECAR_ADMIN_PORT: 'tcp://10.0.0.2:9090',
      SIDECAR_ADMIN_SERVICE_HOST: '10.0.0.2',
    })
    expect(overrides).to.deep.equal([])
    expect(warnings.map(({ path }) => path)).to.deep.equal([
      'SIDECAR_PORT',
      'SIDECAR_PORT_8080_TCP_ADDR',
      'SIDECAR_ADMIN_PORT',
      'SIDECAR_ADMIN_SERVICE_HOST',
    ])
  })
})
