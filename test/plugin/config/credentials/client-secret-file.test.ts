import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { readDomains } from '../../../../plugin/mount/read-domains.ts'
import { readTextFile } from '../../../../plugin/mount/read-text-file.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { problemPaths, readOne, settingsOf, warningsOf } from '../single-domain.ts'

const withFile = (file: unknown, more: object = {}) => ({
  issuer: 'https://idp.example.com',
  client: { client_id: 'mesh', client_secret_file: file, ...more },
})
const PATH = 'client.client_secret_file'
/** Returns options under which every file that is read has this content. */
const content = (text: string) => ({ configFolder: '/etc/mesh', readFile: () => text })
/** Returns the only problem of a configuration, without its path. */
const problemOf = (...args: Parameters<typeof readOne>) => {
  const { problems } = readOne(...args)
  expect(problems).to.have.length(1)
  expect(problems[0]?.path).to.match(/client\.client_secret_file$/)
  return `${problems[0]?.reason}. ${problems[0]?.remedy}`
}

describe('client.client_secret_file', () => {
  const folder = temporaryFolder()
  const real = () => ({ configFolder: folder.path(), readFile: readTextFile })

  // Shows: plugin 4.3.
  it("reads a relative client_secret_file from the configuration's folder", async () => {
    await writeFile(folder.path('secret'), 'from the file\n')
    for (const file of ['secret', './secret', folder.path('secret')]) {
      const { client } = settingsOf(withFile(file), real())
      expect(client.client_secret).to.equal('from the file')
      expect(client.client_secret_file).to.equal(folder.path('secret'))
    }
    expect(settingsOf(withFile(folder.path('secret')), { readFile: readTextFile }).client.client_secret).to.be.a(
      'string',
    )
  })

  it('accepts client_secret_file in any letter case', () => {
    const { client } = settingsOf(
      { issuer: 'https://idp.example.com', client: { client_id: 'mesh', Client_Secret_FILE: 'a' } },
      content('it'),
    )
    expect(client.client_secret).to.equal('it')
  })

  it('strips only a byte order mark and one final line break from the secret', () => {
    const secretIn = (text: string) => settingsOf(withFile('a'), content(text)).client.client_secret
    expect(['it', 'it\n', 'it\r\n', '\ufeffit\n', ' it '].map(secretIn)).to.deep.equal(['it', 'it', 'it', 'it', ' it '])
    const secrets = fc.string({ unit: fc.constantFrom(...'aZ0 :%+/="\\&é'), minLength: 1, maxLength: 100 })
    fc.assert(
      fc.property(secrets, fc.constantFrom('', '\n', '\r\n'), (secret, end) => secretIn(secret + end) === secret),
    )
  })

  // Shows: plugin 4.3.
  it('refuses a client that has both client_secret_file and client_secret', () => {
    expect(problemOf(withFile('a', { client_secret: 'b' }), content('c'))).to.include(
      'is configured together with `client_secret`',
    )
    const deprecated = { ...withFile('a'), clientsecret: 'b' }
    expect(problemPaths(deprecated, content('c'))).to.deep.equal([PATH])
  })

  it("refuses a relative client_secret_file if the configuration's folder is unknown", () => {
    expect(problemOf(withFile('a'), { readFile: () => 'it' })).to.match(/relative path.*absolute path.*configFolder/)
  })

  // Shows: plugin 4.3.
  it('reports the full path of a secret file that is missing or is a folder', async () => {
    expect(problemOf(withFile('gone'), real()))
      .to.include('does not exist (ENOENT)')
      .and.include(folder.path('gone'))
    await mkdir(folder.path('folder'))
    expect(problemOf(withFile('folder'), real()))
      .to.include('names a folder')
      .and.include(folder.path('folder'))
    const refusing = (code: string) => ({
      configFolder: '/etc/mesh',
      readFile: () => {
        throw Object.assign(new Error('no'), { code })
      },
    })
    for (const code of ['EACCES', 'EPERM']) {
      expect(problemOf(withFile('a'), refusing(code))).to.match(/may not read.*\/etc\/mesh\/a/)
    }
    expect(problemOf(withFile('a'), refusing('EIO'))).to.include('cannot be read (EIO)')
  })

  it('names the option readFile if a secret file is configured without that option', () => {
    expect(problemOf(withFile('a'), { configFolder: '/etc/mesh' }))
      .to.include('called without the option `readFile`. Pass `readFile`')
      .and.not.include('who may read it')
  })

  // Root may read every file, and Windows has no such permissions.
  const readsAll = process.getuid?.() === 0 || process.platform === 'win32'
  const unlessReadsAll = readsAll ? it.skip : it
  const reason = readsAll ? ' (skipped for root and on Windows)' : ''
  unlessReadsAll(`reports EACCES for a secret file that it may not read${reason}`, async () => {
    await writeFile(folder.path('secret'), 'it')
    await chmod(folder.path('secret'), 0)
    expect(problemOf(withFile('secret'), real())).to.include('may not read (EACCES)')
  })

  // Shows: plugin 4.3.
  it('refuses an empty, oversized or multi-line secret file without quoting it', async () => {
    for (const text of ['', '\n', '\r\n', '\ufeff']) {
      expect(problemOf(withFile('a'), content(text)), JSON.stringify(text)).to.include('names an empty file')
    }
    const secret = 'hunter2hunter2'
    await writeFile(folder.path('utf-16'), Buffer.from(`\ufeff${secret}\r\n`, 'utf16le'))
    await writeFile(folder.path('long'), secret.repeat(1000))
    const messages = [
      ...[`${secret}\n\n`, `KEY=${secret}\nOTHER=1`, `${secret}\0`].map((text) =>
        problemOf(withFile('a'), content(text)),
      ),
      problemOf(withFile('utf-16'), real()),
      problemOf(withFile('long'), real()),
      problemOf(withFile('a'), content('x'.repeat(8193))),
    ]
    expect(messages.slice(0, 4).every((text) => text.includes('not a single line of text in UTF-8'))).to.equal(true)
    expect(messages.slice(4).every((text) => text.includes('more than 8 KB'))).to.equal(true)
    expect(messages.join()).to.not.include('hunter2')
    expect(settingsOf(withFile('a'), content('x'.repeat(8192))).client.client_secret).to.have.length(8192)
  })

  it('warns if the secret file contains a placeholder', () => {
    expect(warningsOf(withFile('a'), content('<client secret>\n'))).to.deep.equal([`placeholder ${PATH}`])
  })

  it('reads the secret file once if several domains share one oidc object', () => {
    let reads = 0
    const readFile = () => {
      reads += 1
      return 'it'
    }
    const domain = (dns: string) => ({ dns, authStrategies: { oidc: withFile('/a') } })
    const config = { domains: { a: domain('a.example.com'), b: domain('b.example.com') } }
    const secrets = readDomains(config, { readFile }).domains.map(({ settings }) => settings?.client.client_secret)
    expect(secrets).to.deep.equal(['it', 'it'])
    expect(reads).to.equal(1)
  })

  it('refuses a client_secret_file that is not a string', () => {
    for (const wrong of ['', 1, null, ['a']]) expect(problemPaths(withFile(wrong), content('it'))).to.deep.equal([PATH])
  })
})
