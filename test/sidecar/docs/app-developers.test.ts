import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { ANSWER_SCHEMAS } from '../../../sidecar/api/openapi/answer-schemas.ts'
import { openApiDocument } from '../../../sidecar/api/openapi/document.ts'
import { avatarHash } from '../../../sidecar/api/requests/avatar.ts'
import { BODY_SCHEMAS } from '../../../sidecar/api/requests/body-schemas.ts'
import * as client from '../../../sidecar/client/index.ts'
import type { AvatarRecord, MessageRecord } from '../../../sidecar/client/wire/bodies.ts'
import { SETTINGS_SCHEMA } from '../../../sidecar/config/schema.ts'
import { API_ERRORS } from '../../../sidecar/errors.ts'
import { expectDocumented } from '../../support/api-document.ts'
import { readDocument } from '../../support/documents.ts'
import { type RunningApi, registration, startApi } from '../../support/running-api.ts'
import { codesIn, EXAMPLES, namesIn, rowsIn, textOf } from './page.ts'

const NAME = 'app-developers.md'
const CALLS = ['register', 'sync', 'avatars', 'unregister'] as const
const section = (call: string) => textOf(NAME, `### POST /v1/${call}`)
/** Returns the path of an API request by the name of its body or answer, such as `SyncBody`. */
const pathOf = (name: string) => `/v1/${name.replace(/Body$|Answer$/, '').toLowerCase()}`
const examples = (end: RegExp) => EXAMPLES.filter(({ name }) => end.test(name))

/** Members of an interface in the client's sources, without inherited ones. */
function interfaceIn(file: string, name: string): readonly { readonly name: string; readonly optional: boolean }[] {
  const source = readDocument(`sidecar/client/${file}.ts`)
  const [, members = ''] =
    new RegExp(`^export interface ${name} [\\s\\S]*?\\{\\n([\\s\\S]*?)^\\}$`, 'm').exec(source) ?? []
  return [...members.matchAll(/^ {2}readonly (\w+)(\??):/gm)].map(([, member = '', mark]) => ({
    name: member,
    optional: mark === '?',
  }))
}

describe('The documentation for app developers', () => {
  let api: RunningApi
  beforeEach(async () => {
    api = await startApi()
  })
  afterEach(() => api.close())

  // Shows: sidecar C15.6.
  it('app-developers.md lists exactly the calls and documents that the API serves', () => {
    const posts = [...textOf(NAME).matchAll(/^### POST (\/v1\/\w+)$/gm)].map(([, path]) => path)
    const gets = namesIn(textOf(NAME, '### GET requests'), 'request').map((name) => name.replace('GET ', ''))
    expect([...posts, ...gets]).to.have.members(Object.keys(openApiDocument().paths))
    expect(posts).to.have.members(CALLS.map((call) => `/v1/${call}`))
  })

  // Shows: sidecar C15.6.
  it('app-developers.md lists all request members and marks the required ones', () => {
    const common = rowsIn(textOf(NAME, '## Requests'), 'member').slice(0, 4)
    const { since: _, ...ofEvery } = BODY_SCHEMAS.sync.properties
    expect(common.map(([cell]) => codesIn(cell)[0])).to.have.members(Object.keys(ofEvery))
    const toEnd = rowsIn(section('unregister'), 'member').map(([cell]) => codesIn(cell)[0])
    const { properties: ofUnregister } = BODY_SCHEMAS.unregister
    expect(toEnd).to.have.members(Object.keys(ofUnregister).filter((name) => !(name in ofEvery)))
    const rows = rowsIn(section('register'), 'member')
    const { properties, required } = BODY_SCHEMAS.register
    const ownPart = Object.keys(properties).filter((name) => !(name in ofEvery))
    expect(rows.map(([cell]) => codesIn(cell)[0])).to.have.members(ownPart)
    for (const [cell, , caseName] of rows) {
      const [name = ''] = codesIn(cell)
      expect(caseName?.startsWith('required'), name).to.equal(required.includes(name))
    }
  })

  it("app-developers.md lists every member of the API's answers", () => {
    const { RegisterAnswer, Message } = ANSWER_SCHEMAS
    expect(namesIn(section('register'), 'in the answer')).to.include.members(Object.keys(RegisterAnswer.properties))
    const message = rowsIn(textOf(NAME, '### A message'), 'member').map(([cell]) => codesIn(cell)[0])
    expect(message).to.have.members(Object.keys(Message.properties))
  })

  // Shows: sidecar C15.6.
  it("app-developers.md lists exactly the API's error codes, each with its status", () => {
    for (const page of [NAME, 'troubleshooting.md']) {
      const rows = rowsIn(textOf(page), 'error').map(([error, status]) => [codesIn(error)[0], Number(status)])
      expect(rows).to.have.deep.members(Object.entries(API_ERRORS).map(([code, { status }]) => [code, status]))
    }
  })

  // Shows: sidecar C15.6.
  it('app-developers.md shows example bodies that the API accepts', async () => {
    const shown = examples(/Body$/)
    expect(new Set(shown.map(({ name }) => pathOf(name))).size).to.equal(CALLS.length)
    for (const { name, value } of shown) {
      await api.post('/v1/register', registration('N0CALL'))
      const { status, body } = await api.post(pathOf(name), value)
      expect({ status, details: body.details }, name).to.deep.equal({ status: 200, details: undefined })
    }
  })

  // Shows: sidecar C15.6.
  it('app-developers.md shows example answers that match the OpenAPI document', () => {
    const bodies = new Map(examples(/Body$/).map(({ name, value }) => [pathOf(name), value]))
    const shown = examples(/(?<!Error)Answer$/)
    expect(shown.length).to.equal(CALLS.length)
    for (const { name, value } of shown) {
      const path = pathOf(name)
      expectDocumented({ path, body: bodies.get(path) }, { status: 200, body: value })
    }
    const [refusal] = examples(/^ErrorAnswer$/)
    expectDocumented({ path: '/v1/register', body: {} }, { status: 400, body: refusal?.value })
    expect(refusal?.value.message).to.equal(API_ERRORS.invalid_request.message)
  })

  it('app-developers.md shows avatars with correct hashes, and correct textBytes', () => {
    const records = examples(/^AvatarsAnswer$/).flatMap(({ value }) => Object.values(Object(value.avatars)))
    expect(records.length).to.equal(2)
    for (const { icon, image, hash } of records as AvatarRecord[]) expect(hash).to.equal(avatarHash(icon, image))
    const messages = examples(/^SyncAnswer$/).flatMap(({ value }) => value.messages as MessageRecord[])
    for (const { text, textBytes = '' } of messages)
      expect(Buffer.from(textBytes, 'base64').toString('latin1')).to.equal(text)
  })

  it('app-developers.md states the default limits of the API', () => {
    const limit = (table: string, member: string) => SETTINGS_SCHEMA.properties?.[table]?.properties?.[member]?.default
    const text = textOf(NAME)
    expect(text)
      .to.include(`${limit('rateLimit', 'max')} requests a minute`)
      .and.include(`${limit('rateLimit', 'newStationsPerHour')} new stations an hour`)
      .and.include(`${limit('rateLimit', 'connectionsPerAddress')} open connections`)
      .and.include(`the newest ${limit('history', 'perStation')}`)
      .and.include(`within ${limit('history', 'duplicateMinutes')} minutes`)
      .and.include(`within ${limit('history', 'duplicateSecondsUnnumbered')} seconds`)
  })

  it('app-developers.md names the tested version of each code generator', () => {
    const text = textOf(NAME, '## Clients by code generators')
    for (const [name, file, version] of [
      ['openapi-generator', 'kotlin/pom.xml', /generator-cli<\D*([\d.]+)/],
      ['Kotlin', 'kotlin/pom.xml', /<kotlin\.version>([\d.]+)/],
      ['Moshi', 'kotlin/pom.xml', /<moshi\.version>([\d.]+)/],
      ['OkHttp', 'kotlin/pom.xml', /okhttp-jvm<\D*([\d.]+)/],
      ['openapi-python-client', 'python/requirements.txt', /==([\d.]+)/],
      ['openapi-typescript', 'typescript/package.json', /"openapi-typescript": "([\d.]+)"/],
      ['openapi-fetch', 'typescript/package.json', /"openapi-fetch": "([\d.]+)"/],
    ] as const)
      expect(text).to.include(`${name} ${readDocument(`test/generators/${file}`).match(version)?.[1]}`)
  })

  // Shows: sidecar C15.10.
  it('app-developers.md shows the bytes whose SHA-256 is the avatar hash', () => {
    const text = textOf(NAME, "### The avatar's hash, byte by byte")
    const [, dump = ''] = /^```text\n([\s\S]*?)^```$/m.exec(text) ?? []
    const bytes = Buffer.from(dump.replaceAll(/^((?:[0-9a-f]{2} ?){1,16}).*\n/gm, '$1').replaceAll(' ', ''), 'hex')
    const image = String(examples(/^RegisterBody$/).find(({ value }) => value.avatarImage)?.value.avatarImage)
    expect(bytes.toString()).to.equal(`vélo\n${image}`)
    expect(text).to.include(`these ${bytes.length} bytes`)
    const hashes = new Map(rowsIn(text, 'avatar').map(([avatar = '', hash]) => [avatar, codesIn(hash)[0]]))
    expect([...hashes.values()]).to.deep.equal([
      ...[client.avatarHash({ icon: 'vélo', image }), client.avatarHash({ icon: '', image })],
      ...[client.avatarHash({ icon: 'vélo', image: '' }), '""'],
    ])
    expect(createHash('sha256').update(bytes).digest('hex')).to.equal([...hashes.values()][0])
  })

  it('app-developers.md lists every option of the client, and which are required', () => {
    const [phone, calls] = [interfaceIn('phone-client', 'ClientOptions'), interfaceIn('calls', 'CallsOptions')]
    const rows = rowsIn(textOf(NAME, '## The client in TypeScript'), 'option')
    expect(rows.map(([option]) => codesIn(option)[0])).to.have.members(
      [...phone, ...calls].map(({ name }) => name).filter((name) => name !== 'signal'),
    )
    const required = rows.filter(([, standard]) => standard === 'required').map(([option]) => codesIn(option)[0])
    expect(required).to.have.members([...phone, ...calls].flatMap(({ name, optional }) => (optional ? [] : [name])))
  })

  it('app-developers.md lists every method and export of the client', async () => {
    const phone = await client.createClient({
      ...{ baseUrl: 'http://127.0.0.1', callsign: 'N0CALL', ssid: 7, passcode: 13023 },
      ...{ platform: 'android', pushToken: 'token', store: { load: async () => undefined, save: async () => {} } },
    })
    await phone.close()
    const page = textOf(NAME, '## The client in TypeScript')
    const methods = namesIn(page, 'method').map((code) => code.replace(/\(.*/, ''))
    expect(methods).to.have.members(Object.keys(phone))
    for (const name of Object.keys(client)) expect(page).to.match(new RegExp(`\\b${name}\\b`))
  })
})
