import { spawnSync } from 'node:child_process'
import { existsSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { codeBlocks, type Document, inCode, readDocument, readDocuments } from './support/documents.ts'
import { createFolder } from './support/file-folder.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DOCUMENTS = readDocuments()
const SHIPPED = (JSON.parse(readDocument('package.json')) as { files: readonly string[] }).files

interface Link {
  readonly from: string
  /** The target as written on the page. */
  readonly target: string
  /** The path of the target from the root of the project. */
  readonly path: string
  readonly anchor: string | undefined
}

const withoutCode = (text: string) => text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '').replaceAll(/`[^`\n]*`/g, '')

/** Returns the links of a page, without those to other sites. */
function linksOf({ path: from, text }: Document): readonly Link[] {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^https?:/.test(target)) return []
    const [file = '', anchor] = target.split('#')
    return [{ from, target, path: file === '' ? from : normalize(join(dirname(from), file)), anchor }]
  })
}

/** The addresses of a page's headings, as GitHub makes them. */
function anchorsOf(text: string): ReadonlySet<string> {
  const counts = new Map<string, number>()
  const headings = [...text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '').matchAll(/^#+ (.+)$/gm)]
  return new Set(
    headings.map(([, heading = '']) => {
      const slug = heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-')
      const times = counts.get(slug) ?? 0
      counts.set(slug, times + 1)
      return times === 0 ? slug : `${slug}-${times}`
    }),
  )
}

/** Globals that an app has and Node lacks. The types of browsers would conflict with those of Node. */
const BROWSER =
  'declare const localStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void }'

describe('documents of the package', () => {
  const links = DOCUMENTS.flatMap(linksOf)

  it('links in documents lead to existing pages and headings', () => {
    expect(links.length).to.be.above(60)
    const anchors = new Map(DOCUMENTS.map(({ path, text }) => [path, anchorsOf(text)]))
    const dead = links.filter(
      ({ path, anchor }) =>
        !existsSync(join(ROOT, path)) || (anchor !== undefined && !(anchors.get(path)?.has(anchor) ?? false)),
    )
    expect(dead.map(({ from, target }) => `${from}: ${target}`)).to.deep.equal([])
  })

  it('links in documents lead only to files that the package contains', () => {
    const always = ['README.md', ...SHIPPED]
    const unshipped = links.filter(({ path }) => !always.some((name) => path === name || path.startsWith(`${name}/`)))
    expect(unshipped.map(({ from, target }) => `${from}: ${target}`)).to.deep.equal([])
  })

  it('documents name no source file that the package lacks', () => {
    const isSource = (code: string) => /^(?:plugin|sidecar|fixtures|test|\.github)\/\S*$/.test(code)
    const isShipped = (code: string) => SHIPPED.some((name) => code === name || code.startsWith(`${name}/`))
    const named = DOCUMENTS.filter(({ path }) => path !== 'README.md').flatMap(({ path, text }) =>
      inCode(text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '')).map((code) => ({ path, code })),
    )
    expect(named.filter(({ code }) => isSource(code) && isShipped(code)).length).to.be.at.least(4)
    expect(named.filter(({ code }) => isSource(code) && !isShipped(code))).to.deep.equal([])
  })

  it('every document is at most two links away from README.md', () => {
    const from = (paths: readonly string[]) => links.filter((link) => paths.includes(link.from)).map(({ path }) => path)
    const first = from(['README.md'])
    const reached = new Set(['README.md', ...first, ...from(first)])
    expect(DOCUMENTS.map(({ path }) => path).filter((path) => !reached.has(path))).to.deep.equal([])
  })

  it('pictures in documents have at most 60 KB', () => {
    const pictures = links.filter(({ path }) => path.endsWith('.png')).map(({ path }) => path)
    expect(new Set(pictures).size).to.be.at.least(2)
    for (const path of pictures) expect(statSync(join(ROOT, path)).size, path).to.be.at.most(60 * 1024)
  })

  it('documents name only existing commands of the package', () => {
    const { scripts } = JSON.parse(readDocument('package.json')) as { scripts: Readonly<Record<string, string>> }
    const named = DOCUMENTS.flatMap(({ path, text }) =>
      [...text.matchAll(/npm run (?:--silent )?([a-z][\w:]*)/g)].map(([, name = '']) => ({ path, name })),
    )
    expect(named.length).to.be.above(30)
    expect(named.filter(({ name }) => !(name in scripts))).to.deep.equal([])
  })

  it('no document runs npx mesh-companion-…, because a stranger may publish that name', () => {
    expect(DOCUMENTS.filter(({ text }) => /npx (?:-\S+ )*mesh-companion-/.test(text))).to.deep.equal([])
  })

  // The package is in no registry, so anyone may publish another one under its name.
  it('documents install the package from a file, never by its name from a registry', () => {
    const { version } = JSON.parse(readDocument('package.json')) as { version: string }
    const named = DOCUMENTS.flatMap(({ path, text }) =>
      [...text.matchAll(/(?:npm (?:install|i|add|exec)|npx|yarn add|pnpm add) [^\n`]*/g)].flatMap(([line]) =>
        line.split(' ').flatMap((word) => (/(?:^|\/)mesh-companion(?:$|[@-])/.test(word) ? [{ path, word }] : [])),
      ),
    )
    const files = named.filter(({ word }) => !word.startsWith('/opt/'))
    expect(files.length).to.be.at.least(3)
    for (const { path, word } of files)
      expect(word, path)
        .to.match(/^\.{1,2}\//)
        .and.satisfy((name: string) => name.endsWith(`/mesh-companion-${version}.tgz`))
  })

  it('the TypeScript blocks of each document compile together as one module', async () => {
    const folder = await createFolder('documents')
    try {
      const modules = DOCUMENTS.flatMap(({ path, text }) => {
        const blocks = codeBlocks(text, 'ts')
        return blocks.length === 0 ? [] : [[`${path.replaceAll(/\W/g, '-')}.ts`, blocks.join('\n')] as const]
      })
      expect(modules.length).to.be.at.least(2)
      for (const [name, code] of modules) await folder.write(name, `${code}\nexport {}\n`)
      symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'), 'junction')
      const compilerOptions = {
        ...{ target: 'es2023', lib: ['es2023'], module: 'esnext', moduleResolution: 'bundler', types: ['node'] },
        ...{ strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true },
        paths: {
          'mesh-companion/plugin': [join(ROOT, 'plugin/index.ts')],
          'mesh-companion/sidecar': [join(ROOT, 'sidecar/index.ts')],
          'mesh-companion/client': [join(ROOT, 'sidecar/client/index.ts')],
          'mesh-companion/testing': [join(ROOT, 'fixtures/testing.ts')],
        },
      }
      const files = ['browser.d.ts', ...modules.map(([name]) => name)]
      await folder.write('browser.d.ts', BROWSER)
      await folder.write('tsconfig.json', JSON.stringify({ compilerOptions, files }))
      await folder.write('package.json', '{"type":"module"}')
      const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
      const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', folder.path], { encoding: 'utf8' })
      expect({ status, stdout }).to.deep.equal({ status: 0, stdout: '' })
    } finally {
      await folder.remove()
    }
  }).timeout(120_000)
})
