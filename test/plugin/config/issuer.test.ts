import { expect } from 'chai'
import {
  ALIASED_ENDPOINTS,
  ISSUER_ENDPOINTS,
  ISSUER_FLAGS,
  ISSUER_LISTS,
} from '../../../plugin/config/rules/issuer-members.ts'
import { CLIENT, ISSUER, MINIMAL, problemPaths, readOne, settingsOf } from './one-domain.ts'

const withIssuer = (issuer: unknown) => ({ client: CLIENT, issuer })

describe('issuer configuration', () => {
  // Shows: plugin 2.1, 3.1.
  it('takes the issuer as a string or inside an object, to the letter', () => {
    for (const issuer of ['https://idp.example.com', 'https://idp.example.com/', 'https://IDP.example.com/realms/A']) {
      expect(settingsOf(withIssuer(issuer)).issuer).to.deep.equal({ issuer, manual: {} })
      expect(settingsOf(withIssuer({ issuer })).issuer).to.deep.equal({ issuer, manual: {} })
    }
  })

  const ADDRESS = 'https://login.example.net/x?tenant=1'
  const NO_ADDRESSES = ['http://login.example.net/', 'login', '', 5, null, [ADDRESS], 'https://login.example.net/#a']
  const LIST = ['RS256', 'ES256']
  const KINDS: readonly (readonly [
    names: readonly string[],
    title: (name: string) => string,
    taken: readonly (readonly [given: unknown, meant: unknown])[],
    refused: readonly unknown[],
    within?: string,
  ])[] = [
    [
      ISSUER_ENDPOINTS,
      (name) => `keeps ${name} as it is, and refuses what is no https address`,
      [[ADDRESS, ADDRESS]],
      NO_ADDRESSES,
    ],
    [
      ISSUER_LISTS,
      (name) => `takes ${name} as one value or a list separated by spaces or commas`,
      [
        ['RS256', ['RS256']],
        ...['RS256 ES256', 'RS256,ES256', ' RS256,  ES256, RS256 '].map((text) => [text, LIST] as const),
      ],
      ['', ' , ', 1, ['RS256']],
    ],
    [
      ISSUER_FLAGS,
      (name) => `takes ${name} as a boolean`,
      [
        [true, true],
        [false, false],
      ],
      ['true', 1, null],
    ],
    [
      ALIASED_ENDPOINTS,
      (name) => `keeps mtls_endpoint_aliases.${name}, and refuses what is no https address`,
      [[ADDRESS, ADDRESS]],
      NO_ADDRESSES,
      'mtls_endpoint_aliases',
    ],
  ]
  for (const [names, title, taken, refused, within] of KINDS) {
    for (const name of names) {
      // Shows: plugin 3.10, 3.11, 3.12, 3.13, 3.14, 3.15, 3.16, 3.22, 3.23, 3.24, 3.25, 3.26, 3.27, 3.28, 3.29, 3.30.
      // Shows: plugin 3.31, 3.32, 3.33, 3.34, 3.35, 3.36, 3.37, 3.38, 3.39, 3.40, 3.41, 3.42, 3.43, 3.44, 3.45, 3.46.
      // Shows: plugin 3.47, 3.48.
      it(title(name), () => {
        const members = (value: unknown) => (within ? { [within]: { [name]: value } } : { [name]: value })
        for (const [given, meant] of taken) {
          const { manual } = settingsOf(withIssuer({ issuer: ISSUER, ...members(given) })).issuer
          expect(manual).to.deep.equal(members(meant))
        }
        const path = ['issuer', ...(within ? [within] : []), name].join('.')
        for (const wrong of refused)
          expect(problemPaths(withIssuer({ issuer: ISSUER, ...members(wrong) })), String(wrong)).to.deep.equal([path])
      })
    }
  }

  // Shows: plugin 3.50.
  it('refuses unknown members of the object and of its aliases', () => {
    const issuer = { issuer: ISSUER, endsession_endpoint: 'https://x.example', mtls_endpoint_aliases: { jwks_uri: '' } }
    expect(
      readOne(withIssuer(issuer)).problems.map(({ path, remedy }) => [path.split('.oidc.')[1], remedy]),
    ).to.deep.equal([
      ['issuer.endsession_endpoint', 'Did you mean "end_session_endpoint"?'],
      ['issuer.mtls_endpoint_aliases.jwks_uri', 'It belongs in "issuer".'],
    ])
  })

  it('is required where no preset applies', () => {
    expect(problemPaths({ client: CLIENT })).to.deep.equal(['issuer'])
    for (const issuer of [{}, { token_endpoint: 'https://idp.example.com/t' }])
      expect(problemPaths(withIssuer(issuer))).to.deep.equal(['issuer.issuer'])
  })

  it('is a https address without query and fragment, of the right type', () => {
    const texts = ['http:', 'ftp:', 'urn:'].map((scheme) => `${scheme}//idp.example.com`)
    const after = ['?a=b', '?', '#a'].map((end) => `https://idp.example.com/${end}`)
    const others = ['idp.example.com', 'urn:idp:example', 'https://', 'https://user:password@idp.example.com/', '']
    for (const wrong of [...texts, ...after, ...others, 'javascript:alert(1)']) {
      expect(problemPaths(withIssuer(wrong)), wrong).to.deep.equal(['issuer'])
      expect(problemPaths(withIssuer({ issuer: wrong })), wrong).to.deep.equal(['issuer.issuer'])
    }
    for (const wrong of [5, null, true, [ISSUER]])
      expect(problemPaths(withIssuer(wrong)), String(wrong)).to.deep.equal(['issuer'])
  })

  it('may be on plain HTTP on this machine, and only there', () => {
    const at = (host: string) => ({ ...MINIMAL, issuer: `http://${host}:9000` })
    for (const host of ['localhost', '127.0.0.1', '127.255.1.2', '[::1]', '127.1'])
      expect(settingsOf(at(host)).issuer.issuer).to.equal(`http://${host}:9000`)
    const elsewhere = ['127.0.0.1.example.com', 'localhost.example.com', '128.0.0.1', '[::2]', '0.0.0.0', '10.0.0.1']
    for (const host of elsewhere) expect(problemPaths(at(host)), host).to.deep.equal(['issuer'])
  })
})
