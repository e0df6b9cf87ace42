import { readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { jsonFileStore } from '../../../../plugin/index.ts'
import { messageOf } from '../../../support/message-of.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

describe('A JSON file as a store', () => {
  const { path } = temporaryFolder()
  let file: string
  beforeEach(() => {
    file = path('people.json')
  })
  const rejected = async (work: unknown) => messageOf(Promise.resolve(work))

  it('is made with the first change, for its owner alone, and leaves nothing else behind', async () => {
    const store = jsonFileStore(path('deep/people.json'))
    expect(await store.get('a')).to.equal(undefined)
    expect(await readdir(path())).to.deep.equal([])
    await store.set('a', '1')
    expect(await readdir(path('deep'))).to.deep.equal(['people.json'])
    expect((await stat(path('deep/people.json'))).mode & 0o777).to.equal(0o600)
  })

  it('has all that was set at once, the last of each key, when that resolves', async () => {
    const store = jsonFileStore(file)
    const keys = ['__proto__', 'constructor', '"', '\u{d800}', ...Array.from({ length: 50 }, (_, at) => `key ${at}`)]
    await Promise.all(keys.flatMap((key) => [store.set(key, 'old'), store.set(key, `of ${key}`)]))
    const again = jsonFileStore(file)
    for (const key of keys) expect(await again.get(key)).to.equal(`of ${key}`)
    expect(await again.get('toString')).to.equal(undefined)
  })

  it('gives what is in the file, not what could not be written', async () => {
    const store = jsonFileStore(join(file, 'people.json'))
    // What should be a folder is a file for a while.
    await writeFile(file, '')
    expect(await rejected(store.set('a', '1'))).to.match(/ENOTDIR|EEXIST/)
    await rm(file)
    expect(await store.get('a')).to.equal(undefined)
    await store.set('b', '2')
    expect(await store.get('a')).to.equal(undefined)
    expect(await store.get('b')).to.equal('2')
  })

  it('is never written over when it cannot be understood, and counts again once it is mended', async () => {
    const store = jsonFileStore(file)
    for (const text of ['', '{"a": "secret', '[]', 'null', '{"a":7}']) {
      await writeFile(file, text)
      const refusal = `${file} is no JSON object of texts. Mend it, or put a copy in its place.`
      expect(await rejected(store.get('a'))).to.equal(refusal)
      expect(await rejected(store.set('a', '1'))).to.equal(refusal)
      expect(await readFile(file, 'utf8')).to.equal(text)
    }
    await writeFile(file, '{"a":"1"}')
    expect(await store.get('a')).to.equal('1')
  })

  it('is not written over when somebody else has changed it, and what they wrote counts from then on', async () => {
    const [one, other] = [jsonFileStore(file), jsonFileStore(file)]
    expect(await other.get('a')).to.equal(undefined)
    await one.set('a', '1')
    expect(await rejected(other.set('b', '2'))).to.match(/was changed by somebody else/)
    expect(await other.get('a')).to.equal('1')
    expect(await other.get('b')).to.equal(undefined)
    await other.set('b', '2')
    expect(await rejected(one.set('c', '3'))).to.match(/was changed by somebody else/)
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal({ a: '1', b: '2' })

    await rm(file)
    expect(await rejected(other.set('d', '4'))).to.match(/was changed by somebody else/)
    await other.set('d', '4')
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal({ d: '4' })
  })

  it('takes no more than 16 MB, and keeps what it had', async () => {
    const store = jsonFileStore(file)
    await store.set('a', '1')
    expect(await rejected(store.set('b', 'x'.repeat(17 * 1024 * 1024)))).to.match(/would be over 16777216 bytes/)
    expect(await store.get('b')).to.equal(undefined)
    await store.set('c', '3')
    expect(Object.keys(JSON.parse(await readFile(file, 'utf8')))).to.deep.equal(['a', 'c'])
    await truncate(file, 17 * 1024 * 1024)
    expect(await rejected(jsonFileStore(file).get('a'))).to.match(/is over 16777216 bytes/)
  })
})
