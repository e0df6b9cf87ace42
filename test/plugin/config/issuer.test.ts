import { expect } from 'chai'
import {
  ALIASED_ENDPOINTS,
  ISSUER_ENDPOINTS,
  ISSUER_FLAGS,
  ISSUER_LISTS,
} from '../../../plugin/config/rules/issuer-members.ts'
import { CLIENT, ISSUER, MINIMAL, problemPaths, readOne, settingsOf } from './one-domain.ts'

const ENDPOINTS = ISSUER_ENDPOINTS
const LISTS = ISSUER_LISTS
const ALIASES = ALIASED_ENDPOINTS

const withIssuer = (issuer: unknown) => ({ client: CLIENT, issuer })

describe('issuer configuration', () => {
  it('takes the issuer as a string or inside an object, to the letter', () => {
    for (const issuer of ['https://idp.example.com', 'https://idp.example.com/', 'https://IDP.example.com/realms/A']) {
      expect(settingsOf(withIssuer(issuer)).issuer).to.deep.equal({ issuer, manual: {} })
      expect(settingsOf(withIssuer({ issuer })).issuer).to.deep.equal({ issuer, manual: {} })
    }
  })

  for (const name of ENDPOINTS) {
    it(`keeps ${name} as it is, and refuses what is no https address`, () => {
      const address = `https://login.example.net/${name}?tenant=1`
      expect(settingsOf(withIssuer({ issuer: ISSUER, [name]: address })).issuer.manual).to.deep.equal({
        [name]: address,
      })
      for (const wrong of [
        'http://login.example.net/',
        'login',
        '',
        5,
        null,
        [address],
        'https://login.example.net/#a',
      ]) {
        expect(problemPaths(withIssuer({ issuer: ISSUER, [name]: wrong })), String(wrong)).to.deep.equal([
          `issuer.${name}`,
        ])
      }
    })
  }

  for (const name of LISTS) {
    it(`takes ${name} as one value or a list separated by spaces or commas`, () => {
      const manual = (text: unknown) => settingsOf(withIssuer({ issuer: ISSUER, [name]: text })).issuer.manual
      expect(manual('RS256')).to.deep.equal({ [name]: ['RS256'] })
      for (const text of ['RS256 ES256', 'RS256,ES256', ' RS256,  ES256, RS256 ']) {
        expect(manual(text)).to.deep.equal({ [name]: ['RS256', 'ES256'] })
      }
      for (const wrong of ['', ' , ', 1, ['RS256']]) {
        expect(problemPaths(withIssuer({ issuer: ISSUER, [name]: wrong })), String(wrong)).to.deep.equal([
          `issuer.${name}`,
        ])
      }
    })
  }

  for (const name of ISSUER_FLAGS) {
    it(`takes ${name} as a boolean`, () => {
      for (const value of [true, false]) {
        const { manual } = settingsOf(withIssuer({ issuer: ISSUER, [name]: value })).issuer
        expect(manual).to.deep.equal({ [name]: value })
      }
      for (const wrong of ['true', 1, null]) {
        expect(problemPaths(withIssuer({ issuer: ISSUER, [name]: wrong }))).to.deep.equal([`issuer.${name}`])
      }
    })
  }

  for (const name of ALIASES) {
    it(`keeps mtls_endpoint_aliases.${name}, and refuses what is no https address`, () => {
      const mtls_endpoint_aliases = { [name]: 'https://mtls.example.com/x' }
      expect(settingsOf(withIssuer({ issuer: ISSUER, mtls_endpoint_aliases })).issuer.manual).to.deep.equal({
        mtls_endpoint_aliases,
      })
      for (const wrong of ['http://mtls.example.com/', 5]) {
        expect(problemPaths(withIssuer({ issuer: ISSUER, mtls_endpoint_aliases: { [name]: wrong } }))).to.deep.equal([
          `issuer.mtls_endpoint_aliases.${name}`,
        ])
      }
    })
  }

  it('refuses unknown members of the object and of its aliases', () => {
    const issuer = { issuer: ISSUER, endsession_endpoint: 'https://x.example', mtls_endpoint_aliases: { jwks_uri: '' } }
    const reading = readOne(withIssuer(issuer))
    expect(reading.problems.map(({ path }) => path)).to.deep.equal([
      'domains[""].authStrategies.oidc.issuer.endsession_endpoint',
      'domains[""].authStrategies.oidc.issuer.mtls_endpoint_aliases.jwks_uri',
    ])
    expect(reading.problems[0]?.remedy).to.equal('Did you mean "end_session_endpoint"?')
    expect(reading.problems[1]?.remedy).to.equal('It belongs in "issuer".')
  })

  it('is required where no preset applies', () => {
    expect(problemPaths({ client: CLIENT })).to.deep.equal(['issuer'])
    expect(problemPaths(withIssuer({}))).to.deep.equal(['issuer.issuer'])
    expect(problemPaths(withIssuer({ token_endpoint: 'https://idp.example.com/t' }))).to.deep.equal(['issuer.issuer'])
  })

  it('is a https address without query and fragment, of the right type', () => {
    for (const wrong of [
      'http://idp.example.com',
      'ftp://idp.example.com',
      'idp.example.com',
      'urn:idp:example',
      'https://',
      'https://idp.example.com/?a=b',
      'https://idp.example.com/?',
      'https://idp.example.com/#a',
      'https://user:password@idp.example.com/',
      'javascript:alert(1)',
      '',
      5,
      null,
      true,
      [ISSUER],
    ]) {
      expect(problemPaths(withIssuer(wrong)), String(wrong)).to.deep.equal(['issuer'])
      if (typeof wrong === 'string') {
        expect(problemPaths(withIssuer({ issuer: wrong })), wrong).to.deep.equal(['issuer.issuer'])
      }
    }
  })

  it('may be on plain HTTP on this machine, and only there', () => {
    for (const host of ['localhost', '127.0.0.1', '127.255.1.2', '[::1]', '127.1']) {
      expect(settingsOf({ ...MINIMAL, issuer: `http://${host}:9000` }).issuer.issuer).to.equal(`http://${host}:9000`)
    }
    for (const host of [
      '127.0.0.1.example.com',
      'localhost.example.com',
      '128.0.0.1',
      '[::2]',
      '0.0.0.0',
      '10.0.0.1',
    ]) {
      expect(problemPaths({ ...MINIMAL, issuer: `http://${host}:9000` }), host).to.deep.equal(['issuer'])
    }
  })
})
