import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { section, tableRows } from './support/documents.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MOST_FILES = 15

/** Halves of the package, each with a page that describes its modules. */
const HALVES = [
  { half: 'plugin', modules: 10 },
  { half: 'sidecar', modules: 9 },
] as const

/** Paths of a half's sources from its root, with slashes. */
function sourcesOf(half: string): readonly string[] {
  return readdirSync(join(ROOT, half), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.(ts|json)$/.test(name) && !/^(docs|deploy)\//.test(name))
}

for (const { half, modules } of HALVES) {
  describe(`the architecture of the ${half}`, () => {
    const page = readFileSync(join(ROOT, half, 'README.md'), 'utf8')
    const sources = sourcesOf(half)
    const folders = [...new Set(sources.map((name) => dirname(name)).filter((folder) => folder !== '.'))]
    const named = [...page.matchAll(/`([\w./-]+)`/g)].map(([, name = '']) => name)

    it(`README of the ${half} has a row for each of its ${modules} modules and no other`, () => {
      const modulesFound = [...new Set(folders.map((folder) => folder.replace(/\/.*/, '')))]
      const rows = tableRows(section(page, '## Modules')).map(([name = '']) =>
        name.replaceAll('`', '').replace('/', ''),
      )
      expect(modulesFound).to.have.length(modules)
      expect(rows).to.have.members(modulesFound)
    })

    it(`README of the ${half} names every folder`, () => {
      const withOwn = folders.filter((folder) => sources.some((name) => dirname(name) === folder))
      expect(withOwn.filter((folder) => !named.includes(`${folder}/`))).to.deep.equal([])
    })

    it(`README of the ${half} names only files and folders that exist`, () => {
      const paths = named.filter((name) => /\.(ts|md)$|\//.test(name) && !name.startsWith('mesh-companion/'))
      expect(paths.length).to.be.above(modules)
      // A row may name a file of its module without the folder.
      const isThere = (name: string) =>
        existsSync(join(ROOT, half, name)) ||
        existsSync(join(ROOT, name)) ||
        sources.some((source) => source.split('/').length === 2 && source.endsWith(`/${name}`))
      expect(paths.filter((name) => !isThere(name))).to.deep.equal([])
    })

    it(`each folder of the ${half} has 2 or more entries and at most ${MOST_FILES} files`, () => {
      const wrong = folders.filter((folder) => {
        const ownFiles = sources.filter((name) => dirname(name) === folder).length
        const below = folders.filter((candidate) => dirname(candidate) === folder).length
        return ownFiles > MOST_FILES || ownFiles + below < 2
      })
      expect(wrong).to.deep.equal([])
    })
  })
}
