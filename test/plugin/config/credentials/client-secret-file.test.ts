import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { readDomains } from '../../../../plugin/mount/read-domains.ts'
import { readTextFile } from '../../../../plugin/mount/read-text-file.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { problemPaths, readOne, settingsOf, warningsOf } from '../one-domain.ts'

const naming = (file: unknown, more: object = {}) => ({
  issuer: 'https://idp.example.com',
  client: { client_id: 'mesh', client_secret_file: file, ...more },
})
const AT = 'client.client_secret_file'
/** What each file holds, whatever its name. */
const holding = (text: string) => ({ configFolder: '/etc/mesh', readFile: () => text })
/** The only problem of a configuration, without the place before it. */
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
  it('is read from the folder of the configuration, or by its absolute path', async () => {
    await writeFile(folder.path('secret'), 'from the file\n')
    for (const file of ['secret', './secret', folder.path('secret')]) {
      const { client } = settingsOf(naming(file), real())
      expect(client.client_secret).to.equal('from the file')
      expect(client.client_secret_file).to.equal(folder.path('secret'))
    }
    expect(settingsOf(naming(folder.path('secret')), { readFile: readTextFile }).client.client_secret).to.be.a('string')
  })

  it('is accepted in any letter case', () => {
    const { client } = settingsOf(
      { issuer: 'https://idp.example.com', client: { client_id: 'mesh', Client_Secret_FILE: 'a' } },
      holding('it'),
    )
    expect(client.client_secret).to.equal('it')
  })

  it('loses one line break at its end and a byte order mark, and nothing else', () => {
    const secretIn = (text: string) => settingsOf(naming('a'), holding(text)).client.client_secret
    expect(['it', 'it\n', 'it\r\n', '\ufeffit\n', ' it '].map(secretIn)).to.deep.equal(['it', 'it', 'it', 'it', ' it '])
    const secrets = fc.string({ unit: fc.constantFrom(...'aZ0 :%+/="\\&é'), minLength: 1, maxLength: 100 })
    fc.assert(
      fc.property(secrets, fc.constantFrom('', '\n', '\r\n'), (secret, end) => secretIn(secret + end) === secret),
    )
  })

  // Shows: plugin 4.3.
  it('beside client_secret is an error', () => {
    expect(problemOf(naming('a', { client_secret: 'b' }), holding('c'))).to.include(
      'is configured together with `client_secret`',
    )
    const deprecated = { ...naming('a'), clientsecret: 'b' }
    expect(problemPaths(deprecated, holding('c'))).to.deep.equal([AT])
  })

  it('that is relative is an error where the folder of the configuration is not known', () => {
    expect(problemOf(naming('a'), { readFile: () => 'it' })).to.match(/relative path.*absolute path.*configFolder/)
  })

  // Shows: plugin 4.3.
  it('that is missing, a folder or unreadable is an error with the path as resolved', async () => {
    expect(problemOf(naming('gone'), real()))
      .to.include('does not exist (ENOENT)')
      .and.include(folder.path('gone'))
    await mkdir(folder.path('folder'))
    expect(problemOf(naming('folder'), real()))
      .to.include('names a folder')
      .and.include(folder.path('folder'))
    const refusing = (code: string) => ({
      configFolder: '/etc/mesh',
      readFile: () => {
        throw Object.assign(new Error('no'), { code })
      },
    })
    for (const code of ['EACCES', 'EPERM']) {
      expect(problemOf(naming('a'), refusing(code))).to.match(/may not read.*\/etc\/mesh\/a/)
    }
    expect(problemOf(naming('a'), refusing('EIO'))).to.include('cannot be read (EIO)')
    expect(problemOf(naming('a'), { configFolder: '/etc/mesh' })).to.include('cannot be read')
  })

  it('without the right to read it is an error that says so', async function () {
    if (process.getuid?.() === 0 || process.platform === 'win32') this.skip()
    await writeFile(folder.path('secret'), 'it')
    await chmod(folder.path('secret'), 0)
    expect(problemOf(naming('secret'), real())).to.include('may not read (EACCES)')
  })

  // Shows: plugin 4.3.
  it('that is empty, over 8 KB or no single line in UTF-8 is an error that quotes none of it', async () => {
    for (const text of ['', '\n', '\r\n', '\ufeff']) {
      expect(problemOf(naming('a'), holding(text)), JSON.stringify(text)).to.include('names an empty file')
    }
    const secret = 'hunter2hunter2'
    await writeFile(folder.path('utf-16'), Buffer.from(`\ufeff${secret}\r\n`, 'utf16le'))
    await writeFile(folder.path('long'), secret.repeat(1000))
    const said = [
      ...[`${secret}\n\n`, `KEY=${secret}\nOTHER=1`, `${secret}\0`].map((text) =>
        problemOf(naming('a'), holding(text)),
      ),
      problemOf(naming('utf-16'), real()),
      problemOf(naming('long'), real()),
      problemOf(naming('a'), holding('x'.repeat(8193))),
    ]
    expect(said.slice(0, 4).every((text) => text.includes('not a single line of text in UTF-8'))).to.equal(true)
    expect(said.slice(4).every((text) => text.includes('more than 8 KB'))).to.equal(true)
    expect(said.join()).to.not.include('hunter2')
    expect(settingsOf(naming('a'), holding('x'.repeat(8192))).client.client_secret).to.have.length(8192)
  })

  it('that holds a placeholder is warned of', () => {
    expect(warningsOf(naming('a'), holding('<client secret>\n'))).to.deep.equal([`placeholder ${AT}`])
  })

  it('is one read for all domains with the same oidc object', () => {
    let reads = 0
    const readFile = () => {
      reads += 1
      return 'it'
    }
    const domain = (dns: string) => ({ dns, authStrategies: { oidc: naming('/a') } })
    const config = { domains: { a: domain('a.example.com'), b: domain('b.example.com') } }
    const secrets = readDomains(config, { readFile }).domains.map(({ settings }) => settings?.client.client_secret)
    expect(secrets).to.deep.equal(['it', 'it'])
    expect(reads).to.equal(1)
  })

  it('has to be a text', () => {
    for (const wrong of ['', 1, null, ['a']]) expect(problemPaths(naming(wrong), holding('it'))).to.deep.equal([AT])
  })
})
