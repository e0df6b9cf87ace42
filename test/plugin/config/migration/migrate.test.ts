import { expect } from 'chai'
import fc from 'fast-check'
import { migrate } from '../../../../plugin/config/migration/migrate.ts'
import { readDomains } from '../../../../plugin/mount/read-domains.ts'
import { serverWith } from '../single-domain.ts'
import { validOidc } from '../valid-oidc.ts'

const OLD = `{
  "__comment": "  spaces,  and \\u00e9 stay",
  "settings": { "Cert": "mesh.example.com", "big": 12345678901234567890, "1": 1.0e+2 },
  "domains": {
    "a": { "dns": "a.example", "authStrategies": { "oidc": { "issuer": "https://i.example", "clientid": "a", "clientsecret": "b" } } },
    "": {
      "authstrategies": {
        "OIDC": {
          "issuer": "https://i.example",
          "ClientID": "a",
          "newAccounts": true,
          "clientsecret": "b",
          "tokenURL": "https://i.example/t",
          "logoutURL": "https://i.example/o",
          "Groups": { "Sync": { "enabled": true, "filter": ["x"] } }
        },
        "saml": { "clientid": "untouched" }
      }
    },
    "b": { "dns": "b.example", "authStrategies": { "oidc": {   "issuer": "https://i.example",   "client": {} } } },
    "1": { "dns": "one.example", "authStrategies": { "oidc": { "clientsecret": "b", "Client": {"client_id":"a"} } } }
  }
}
`
const NEW = `{
  "__comment": "  spaces,  and \\u00e9 stay",
  "settings": { "Cert": "mesh.example.com", "big": 12345678901234567890, "1": 1.0e+2 },
  "domains": {
    "a": { "dns": "a.example", "authStrategies": { "oidc": {"issuer":"https://i.example","client":{"client_id":"a","client_secret":"b"}} } },
    "": {
      "authstrategies": {
        "OIDC": {
          "issuer": {
            "issuer": "https://i.example",
            "token_endpoint": "https://i.example/t"
          },
          "client": {
            "client_id": "a",
            "client_secret": "b"
          },
          "newAccounts": true,
          "logouturl": "https://i.example/o",
          "Groups": {
            "Sync": {
              "filter": [
                "x"
              ]
            }
          }
        },
        "saml": { "clientid": "untouched" }
      }
    },
    "b": { "dns": "b.example", "authStrategies": { "oidc": {   "issuer": "https://i.example",   "client": {} } } },
    "1": { "dns": "one.example", "authStrategies": { "oidc": {"Client":{"client_id":"a","client_secret":"b"}} } }
  }
}
`

describe('migration of a configuration file', () => {
  it('migration moves deprecated keys and changes no other character', () => {
    expect(migrate(OLD)).to.equal(NEW)
    expect(migrate(NEW)).to.equal(NEW)
  })

  it('migration keeps the indentation by tabs and the line breaks of the file', () => {
    const style = (text: string) =>
      text.replace(/^ +/gm, (spaces) => '\t'.repeat(spaces.length / 2)).replaceAll('\n', '\r\n')
    expect(migrate(style(OLD))).to.equal(style(NEW))
  })

  it('migration keeps an indentation that continues tabs with spaces', () => {
    const file = (oidc: string) => `{"domains":\n\t{"":{"authStrategies":{"oidc":${oidc}}}}}`
    const moved = file('{\n\t    "client": {\n\t        "client_id": "a"\n\t    }\n\t}')
    expect(migrate(file('{\n\t    "clientid": "a"\n\t}'))).to.equal(moved)
  })

  it('migration indents by two spaces if the file has no indentation', () => {
    const file = (oidc: string) => `{"domains":{"":{"authStrategies":{"oidc":${oidc}}}}}`
    const moved = file('{\n  "client": {\n    "client_id": "a"\n  }\n}')
    for (const flat of ['{\n"clientid": "a"\n}', '{ "clientid":\n"a"}']) expect(migrate(file(flat))).to.equal(moved)
    for (const value of ['null', '5', '{\n}']) expect(migrate(file(value))).to.equal(file(value))
    const deep = file('{\n    "clientid": "a"\n  }').replace('{"":', '{\n\t\t"":')
    expect(migrate(deep)).to.match(/\n\t\t {2}"client": \{\n\t\t {4}"client_id": "a"\n\t\t {2}\}\n\t\t\}/)
  })

  it('a migrated file has the same settings as before, without deprecated keys', () => {
    fc.assert(
      fc.property(validOidc, fc.constantFrom(undefined, 2, '\t'), (oidc, space) => {
        const config = { ...serverWith(oidc), other: { scope: [1, null, 'x'] } }
        const migrated = JSON.parse(migrate(JSON.stringify(config, null, space)))
        const [original] = readDomains(config).domains
        const [result] = readDomains(migrated).domains
        expect(original?.settings).not.to.equal(null)
        expect(result?.settings).to.deep.equal(original?.settings)
        expect(result?.warnings.map(({ code }) => code)).not.to.contain('deprecated_key')
        expect(migrate(JSON.stringify(migrated, null, space))).to.equal(JSON.stringify(migrated, null, space))
        expect({ ...migrated, domains: null }).to.deep.equal({ ...config, domains: null })
      }),
      { numRuns: 200 },
    )
  })
})
