import { expect } from 'chai'
import {
  ALIASED_ENDPOINTS,
  ISSUER_ENDPOINTS,
  ISSUER_FLAGS,
  ISSUER_LISTS,
} from '../../../plugin/config/rules/issuer-members.ts'
import { CLIENT, ISSUER, MINIMAL, problemPaths, readOne, settingsOf } from './single-domain.ts'

const withIssuer = (issuer: unknown) => ({ client: CLIENT, issuer })

describe('issuer setting', () => {
  // Shows: plugin 2.1, 3.1.
  it('keeps the issuer exactly as written, whether a string or inside an object', () => {
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
    accepted: readonly (readonly [input: unknown, expected: unknown])[],
    refused: readonly unknown[],
    within?: string,
  ])[] = [
    [ISSUER_ENDPOINTS, (name) => `accepts only https URLs for ${name}`, [[ADDRESS, ADDRESS]], NO_ADDRESSES],
    [
      ISSUER_LISTS,
      (name) => `reads ${name} as a list`,
      [
        ['RS256', ['RS256']],
        ...['RS256 ES256', 'RS256,ES256', ' RS256,  ES256, RS256 '].map((text) => [text, LIST] as const),
      ],
      ['', ' , ', 1, ['RS256']],
    ],
    [
      ISSUER_FLAGS,
      (name) => `refuses a non-boolean ${name}`,
      [
        [true, true],
        [false, false],
      ],
      ['true', 1, null],
    ],
    [
      ALIASED_ENDPOINTS,
      (name) => `accepts only https URLs for the mTLS ${name}`,
      [[ADDRESS, ADDRESS]],
      NO_ADDRESSES,
      'mtls_endpoint_aliases',
    ],
  ]
  for (const [names, title, accepted, refused, within] of KINDS) {
    for (const name of names) {
      // Shows: plugin 3.10, 3.11, 3.12, 3.13, 3.14, 3.15, 3.16, 3.22, 3.23, 3.24, 3.25, 3.26, 3.27, 3.28, 3.29, 3.30.
      // Shows: plugin 3.31, 3.32, 3.33, 3.34, 3.35, 3.36, 3.37, 3.38, 3.39, 3.40, 3.41, 3.42, 3.43, 3.44, 3.45, 3.46.
      // Shows: plugin 3.47, 3.48.
      it(title(name), () => {
        const members = (value: unknown) => (within ? { [within]: { [name]: value } } : { [name]: value })
        for (const [input, expected] of accepted) {
          const { manual } = settingsOf(withIssuer({ issuer: ISSUER, ...members(input) })).issuer
          expect(manual).to.deep.equal(members(expected))
        }
        const path = ['issuer', ...(within ? [within] : []), name].join('.')
        for (const wrong of refused)
          expect(problemPaths(withIssuer({ issuer: ISSUER, ...members(wrong) })), String(wrong)).to.deep.equal([path])
      })
    }
  }

  // Shows: plugin 3.50.
  it('refuses unknown members of issuer and of mtls_endpoint_aliases', () => {
    const issuer = { issuer: ISSUER, endsession_endpoint: 'https://x.example', mtls_endpoint_aliases: { jwks_uri: '' } }
    expect(
      readOne(withIssuer(issuer)).problems.map(({ path, remedy }) => [path.split('.oidc.')[1], remedy]),
    ).to.deep.equal([
      ['issuer.endsession_endpoint', 'Did you mean "end_session_endpoint"?'],
      ['issuer.mtls_endpoint_aliases.jwks_uri', 'It belongs in "issuer".'],
    ])
  })

  it('requires an issuer unless a preset provides it', () => {
    expect(problemPaths({ client: CLIENT })).to.deep.equal(['issuer'])
    for (const issuer of [{}, { token_endpoint: 'https://idp.example.com/t' }])
      expect(problemPaths(withIssuer(issuer))).to.deep.equal(['issuer.issuer'])
  })

  it('refuses an issuer that is not an https URL or has a query or fragment', () => {
    const texts = ['http:', 'ftp:', 'urn:'].map((scheme) => `${scheme}//idp.example.com`)
    const withSuffix = ['?a=b', '?', '#a'].map((end) => `https://idp.example.com/${end}`)
    const invalid = ['idp.example.com', 'urn:idp:example', 'https://', 'https://user:password@idp.example.com/', '']
    for (const wrong of [...texts, ...withSuffix, ...invalid, 'javascript:alert(1)']) {
      expect(problemPaths(withIssuer(wrong)), wrong).to.deep.equal(['issuer'])
      expect(problemPaths(withIssuer({ issuer: wrong })), wrong).to.deep.equal(['issuer.issuer'])
    }
    for (const wrong of [5, null, true, [ISSUER]])
      expect(problemPaths(withIssuer(wrong)), String(wrong)).to.deep.equal(['issuer'])
  })

  it('accepts an issuer on plain HTTP only on loopback', () => {
    const issuerOn = (host: string) => ({ ...MINIMAL, issuer: `http://${host}:9000` })
    for (const host of ['localhost', '127.0.0.1', '127.255.100.200', '[::1]', '127.1'])
      expect(settingsOf(issuerOn(host)).issuer.issuer).to.equal(`http://${host}:9000`)
    const elsewhere = ['127.0.0.1.example.com', 'localhost.example.com', '128.0.0.1', '[::2]', '0.0.0.0', '10.0.0.1']
    for (const host of elsewhere) expect(problemPaths(issuerOn(host)), host).to.deep.equal(['issuer'])
  })
})
