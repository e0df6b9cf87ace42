import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import fc from 'fast-check'
import { openApiDocument, packagedDocument } from '../../../sidecar/api/openapi/document.ts'
import { API_ERRORS } from '../../../sidecar/errors.ts'
import { isDocumentedBody } from '../../support/api-document.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'

interface Operation {
  readonly responses: Readonly<Record<string, object>>
}

interface Published {
  readonly servers: readonly object[]
  readonly paths: Readonly<Record<string, { readonly get?: Operation; readonly post?: Operation }>>
}

describe('The OpenAPI document of the API', () => {
  let api: RunningApi
  beforeEach(async () => {
    api = await startApi({ webPush: { allowPrivate: false, publicKey: 'BPublic' } })
  })
  afterEach(() => api.close())

  const fetched = async () => (await (await fetch(`${api.api.url}/v1/openapi.json`)).json()) as Published

  // Shows: sidecar C15.1.
  it('/v1/openapi.json serves an OpenAPI 3.1 document without authentication', async () => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate(JSON.stringify(await fetched(), null, 2))
    expect(errors ?? []).to.deep.equal([])
    expect(valid).to.equal(true)
    expect(validator.version).to.equal('3.1')
  })

  it('openapi.json uses only single types and sized integers, for code generators', () => {
    const kinds = new Set<string>()
    const look = (schema: object, place: string) => {
      expect(schema, place).to.not.have.any.keys('oneOf', 'anyOf', 'allOf', 'discriminator')
      const { type = [], format } = schema as { readonly type?: string | readonly string[]; readonly format?: string }
      const ownPart = [type].flat().filter((kind) => kind !== 'null')
      expect(ownPart.length, place).to.be.at.most(1)
      if (ownPart[0] === 'integer') expect(format, place).to.be.oneOf(['int32', 'int64'])
      else expect(ownPart[0], place).to.not.equal('number')
      for (const kind of ownPart) kinds.add(kind)
      for (const [name, part] of Object.entries(schema)) if (Object(part) === part) look(part, `${place}/${name}`)
    }
    look(openApiDocument().components.schemas, '')
    expect([...kinds]).to.include.members(['array', 'boolean', 'integer', 'string'])
  })

  // Shows: sidecar C15.2.
  it('openapi.json lists exactly the calls and documents that the API serves', async () => {
    const { paths } = await fetched()
    for (const [path, methods] of Object.entries(paths)) {
      const status = (await fetch(`${api.api.url}${path}`)).status
      expect(path).to.deep.equal(path)
      expect(status).to.deep.equal('get' in methods ? 200 : 405)
      expect('post' in methods).to.equal(status === 405)
    }
    const named = API_ERRORS.not_found.message.match(/\/v1\/\w+/g) ?? []
    expect(Object.keys(paths)).to.include.members([...named, '/v1/webpush', '/v1/openapi.json'])
  })

  it('HEAD /v1/openapi.json returns the content type without the document', async () => {
    const [head, get] = await Promise.all(
      ['HEAD', 'GET'].map((method) => fetch(`${api.api.url}/v1/openapi.json`, { method })),
    )
    expect(head?.status).to.equal(200)
    expect(head?.headers.get('content-type')).to.equal(get?.headers.get('content-type'))
    expect(await head?.text()).to.equal('')
  })

  // Shows: sidecar C15.2.
  it('openapi.json documents every error code of each call except method_not_allowed', () => {
    const text = JSON.stringify(openApiDocument().paths)
    const untold = Object.keys(API_ERRORS).filter((code) => !text.includes(`${code}: `))
    expect(untold).to.deep.equal(['method_not_allowed'])
  })

  // Shows: sidecar C15.2.
  it('openapi.json documents status 429 without a body for every request', async () => {
    const { paths } = await fetched()
    for (const [path, methods] of Object.entries(paths))
      for (const { responses } of Object.values(methods)) {
        expect(responses, path).to.have.property('429')
        expect(responses[429], path).to.have.all.keys('description')
      }
  })

  // Shows: sidecar C15.9.
  it("the package's openapi.json lacks only the relative server URL of the served one", async () => {
    const {
      servers: [, any],
      ...served
    } = await fetched()
    expect(JSON.parse(JSON.stringify(packagedDocument()))).to.deep.equal({ ...served, servers: [any] })
  })

  // Shows: sidecar C15.1.
  it('the API refuses exactly the request bodies that openapi.json does not permit', async () => {
    const member = fc.constantFrom(
      ...['callsign', 'ssid', 'auth', 'since', 'stations', 'platform', 'pushToken', 'ackMessages', 'wantHistory'],
      ...['avatarHash', 'avatarIcon', 'avatarImage', 'avatarUpdate', 'blocked', 'wantAcks', 'anySsid', 'unknown'],
    )
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom('ios', 'android', 'webpush', 'x'.repeat(4097), new Array(51).fill('N1CALL'), undefined),
    )
    const bodies = {
      '/v1/register': registration('N0CALL'),
      '/v1/sync': { ...claim('N0CALL'), since: 0 },
      '/v1/avatars': { ...claim('N0CALL'), stations: [] },
      '/v1/unregister': claim('N0CALL'),
    }
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.entries(bodies)), member, odd, async ([path, body], name, value) => {
        const changed = JSON.parse(JSON.stringify({ ...body, [name]: value }))
        const { status, body: answer } = await api.post(path, changed)
        if (!isDocumentedBody(path, changed))
          expect({ status, error: answer.error }).to.deep.equal({ status: 400, error: 'invalid_request' })
        const reasons = status === 400 ? answer.details.map(({ reason }) => reason).join(' ') : ''
        if (/of type|missing|one of|more than/.test(reasons)) expect(isDocumentedBody(path, changed)).to.equal(false)
      }),
      { numRuns: propertyRuns(60) },
    )
  })
})
