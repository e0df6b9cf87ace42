import { expect } from 'chai'
import { readDomains } from '../../../../plugin/mount/read-domains.ts'
import { CLIENT, MINIMAL, readOne, warningsOf } from '../single-domain.ts'

const withRedirect = (redirect_uri: string) => ({ ...MINIMAL, client: { ...CLIENT, redirect_uri } })

describe("redirect_uri and the domain's host name", () => {
  it('warns of a redirect_uri on another host, and names the expected host', () => {
    for (const origin of ['https://other.example.com', 'https://example.com', 'http://localhost:3000']) {
      const address = `${origin}/auth-oidc-callback`
      expect(warningsOf(withRedirect(address)), address).to.deep.equal(['other_host client.redirect_uri'])
      expect(readOne(withRedirect(address)).warnings[0]?.remedy).to.include('mesh.example.com')
    }
    const [warning] = readOne(withRedirect('https://other.example.com/auth-oidc-callback')).warnings
    expect(warning?.reason).to.match(/^is not on mesh\.example\.com, /)
  })

  it("suggests the domain's own address if redirect_uri is on localhost", () => {
    const [warning] = readOne(withRedirect('http://localhost:8080/auth-oidc-callback')).warnings
    expect(warning?.reason).to.match(/^leads to the user's own machine/)
    expect(warning?.remedy).to.equal(
      'Write "https://mesh.example.com/auth-oidc-callback", and register this address at the IdP.',
    )
  })

  it("accepts a redirect_uri on the domain's host with any port and path", () => {
    for (const address of ['https://mesh.example.com/auth-oidc-callback', 'https://MESH.example.com:8443/elsewhere']) {
      expect(warningsOf(withRedirect(address)), address).to.deep.equal([])
    }
    expect(warningsOf(MINIMAL)).to.deep.equal([])
  })

  it('compares each redirect_uri with the host name of the domain that configures it', () => {
    const oidc = withRedirect('https://two.example.com/auth-oidc-callback')
    const authStrategies = { oidc }
    const domains = { '': { authStrategies }, two: { dns: 'two.example.com', authStrategies } }
    const config = { settings: { cert: 'mesh.example.com' }, domains }
    const codes = readDomains(config).domains.map(({ warnings }) => warnings.map(({ code }) => code))
    expect(codes).to.deep.equal([['other_host'], []])
  })
})
