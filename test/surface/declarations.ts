import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parse } from '@babel/parser'

/** A name in a module of declarations. */
interface Place {
  readonly file: string
  readonly name: string
}

interface Module {
  /** Texts of the declarations by name, without comments. */
  readonly declared: ReadonlyMap<string, string>
  /** Source file and original name of each imported or re-exported name. */
  readonly imported: ReadonlyMap<string, Place>
  /** Exported names, each with its name inside the module. */
  readonly exported: ReadonlyMap<string, string>
}

/**
 * Returns the names that an entry point exports, and the text of each declaration to which these lead, by
 * `file: name`.
 *
 * @param entry the entry point, a file of declarations
 * @param root the folder of all declarations; the rest are types of other packages
 */
export function declarationsOf(entry: string, root: string) {
  const modules = new Map<string, Module>()
  const moduleAt = (file: string): Module => {
    const module = modules.get(file) ?? readModule(file)
    modules.set(file, module)
    return module
  }
  const texts = new Map<string, string>()
  const follow = ({ file, name }: Place): void => {
    const { declared, imported, exported } = moduleAt(file)
    const inside = exported.get(name) ?? name
    const from = imported.get(inside)
    if (from) {
      follow(from)
      return
    }
    const text = declared.get(inside)
    const key = `${relative(root, file).replaceAll('\\', '/')}: ${inside}`
    if (text === undefined || texts.has(key)) return
    texts.set(key, text)
    for (const [, path = '', member = ''] of text.matchAll(/import\(["'](\.[^"']+)["']\)\.(\w+)/g))
      follow({ file: fileOf(path, file), name: member })
    for (const word of new Set(text.match(/[\w$]+/g)))
      if (declared.has(word) || imported.has(word)) followInside(file, word)
  }
  /** Follows a name that a module uses, which may differ from the one that it exports. */
  const followInside = (file: string, name: string): void => {
    const from = moduleAt(file).imported.get(name)
    follow(from ?? { file, name })
  }
  const names = [...moduleAt(entry).exported.keys()].sort()
  for (const name of names) follow({ file: entry, name })
  return { names, texts }
}

function readModule(file: string): Module {
  const source = readFileSync(file, 'utf8')
  const { program, comments } = parse(source, { sourceType: 'module', plugins: [['typescript', { dts: true }]] })
  const declared = new Map<string, string>()
  const imported = new Map<string, Place>()
  const exported = new Map<string, string>()
  const textOf = ({ start, end }: { readonly start?: number | null; readonly end?: number | null }) =>
    withoutComments(source, start ?? 0, end ?? 0, comments ?? [])
  for (const node of program.body) {
    if (node.type === 'ImportDeclaration' && node.source.value.startsWith('.')) {
      for (const item of node.specifiers)
        if (item.type === 'ImportSpecifier')
          imported.set(item.local.name, { file: fileOf(node.source.value, file), name: nameOf(item.imported) })
    } else if (node.type === 'ExportNamedDeclaration' && !node.declaration) {
      for (const item of node.specifiers) {
        if (item.type !== 'ExportSpecifier') continue
        const [inside, outside] = [item.local.name, nameOf(item.exported)]
        exported.set(outside, inside)
        if (node.source) imported.set(inside, { file: fileOf(node.source.value, file), name: inside })
      }
    } else {
      const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node
      if (!declaration) continue
      for (const name of namesOf(declaration)) {
        // Overloads have one name.
        declared.set(name, [declared.get(name), textOf(node)].filter(Boolean).join('\n'))
        if (node.type === 'ExportNamedDeclaration') exported.set(name, name)
      }
    }
  }
  return { declared, imported, exported }
}

function namesOf(declaration: object): readonly string[] {
  const { id, declarations = [] } = declaration as {
    readonly id?: { readonly name?: string }
    readonly declarations?: readonly { readonly id: { readonly name?: string } }[]
  }
  return [id, ...declarations.map((item) => item.id)].flatMap((named) => named?.name ?? [])
}

function nameOf(node: { readonly type: string; readonly name?: string; readonly value?: string }): string {
  return node.name ?? node.value ?? ''
}

function withoutComments(
  source: string,
  start: number,
  end: number,
  comments: readonly { readonly start?: number | undefined; readonly end?: number | undefined }[],
): string {
  let text = ''
  let position = start
  for (const comment of comments) {
    if ((comment.start ?? 0) < position || (comment.end ?? 0) > end) continue
    text += source.slice(position, comment.start)
    position = comment.end ?? position
  }
  return (text + source.slice(position, end)).replaceAll(/[ \t]+$/gm, '').replaceAll(/\n{2,}/g, '\n')
}

function fileOf(specifier: string, from: string): string {
  return join(dirname(from), specifier.replace(/\.(js|ts)$/, '.d.ts'))
}
