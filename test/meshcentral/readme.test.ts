import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const read = (file: string) => readFile(fileURLToPath(new URL(file, import.meta.url)), 'utf8')

describe('the table of what the plugin does better in MeshCentral', () => {
  it('names tests that there are, at least one in each row', async () => {
    const rows = (await read('README.md'))
      .split('\n')
      .filter((line) => line.split(' | ').length === 4 && !/^\| (---|row) /.test(line))
    expect(rows).to.have.length(26)
    const named = rows.map(namedTests)
    expect(named.filter((tests) => tests.length === 0)).to.deep.equal([])
    const missing = named.flat().map(async ({ file, title }) => {
      const text = await read(file)
      return text.includes(`it('${title}', `) || text.includes(`it("${title}", `) ? [] : [`${file}: ${title}`]
    })
    expect((await Promise.all(missing)).flat()).to.deep.equal([])
  })
})

function namedTests(row: string): readonly { readonly file: string; readonly title: string }[] {
  const cell = row.slice(0, -2).split(' | ')[3] ?? ''
  return cell.split('<br>').flatMap((part) => {
    const [file = '', ...titles] = [...part.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
    return titles.map((title) => ({ file, title }))
  })
}
