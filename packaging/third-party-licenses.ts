import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Files with a license's text, or with notices that must be passed on with it. */
const TEXT_FILE = /^(licen[cs]e|copying|notice|authors)\b/i
const LICENSE_FILE = /^(licen[cs]e|copying)\b/i
const README = /^readme(\.\w+)?$/i
const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/|$)/
const RULE = '-'.repeat(80)

/** The MIT license without its copyright line. Source: SPDX, MIT. */
const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`

interface Package {
  readonly title: string
  readonly license: string
  readonly author: string | undefined
  /** Texts of the license and of notices; empty if the package ships none. */
  readonly texts: readonly string[]
}

/**
 * Returns the text of a file `THIRD-PARTY-LICENSES`. It lists each package with its version, its license and the full
 * texts. The licenses demand that these texts are shipped with the code.
 *
 * @param intro the sentences at the top
 * @param files paths of the shipped files in `node_modules`, or of the packages' folders; other paths are ignored
 * @param root the folder to which `files` are relative
 * @throws Error if the text of a package's license cannot be found
 */
export async function thirdPartyLicenses(intro: string, files: readonly string[], root: string): Promise<string> {
  const packages = await Promise.all(packageFolders(files).map((folder) => readPackage(join(root, folder))))
  const entries = packages.map((one) => entryOf(one, packages))
  return `${[intro, ...new Set(entries.sort())].join(`\n\n${RULE}\n`)}\n`
}

/** Returns the folders of the packages to which these paths lead, such as `node_modules/pino`, sorted. */
export function packageFolders(files: readonly string[]): readonly string[] {
  const folders = files.flatMap((name) => PACKAGE_FOLDER.exec(name.replaceAll('\\', '/'))?.[0] ?? [])
  return [...new Set(folders)].sort()
}

async function readPackage(folder: string): Promise<Package> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
  const names = await readdir(folder)
  const textOf = async (name: string) => (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n').trim()
  const named = names.filter((name) => TEXT_FILE.test(name)).sort()
  const hasLicense = named.some((name) => LICENSE_FILE.test(name))
  const sections = hasLicense ? [] : await Promise.all(names.filter((name) => README.test(name)).map(textOf))
  return {
    title: `${manifest.name} ${manifest.version}`,
    license: String(manifest.license),
    author: authorOf(manifest),
    texts: [
      ...sections.flatMap((text) => licenseSection(text) ?? []),
      ...(hasLicense || sections.some(licenseSection) ? await Promise.all(named.map(textOf)) : []),
    ],
  }
}

/** Returns the license in a README, where some packages have it instead of in a file. */
function licenseSection(readme: string): string | undefined {
  const start = readme.search(/^.*copyright.*\n[\s\S]{0,200}?permission is hereby granted/im)
  return start === -1 ? undefined : readme.slice(start)
}

function entryOf(one: Package, all: readonly Package[]): string {
  const { title, license, author } = one
  const facts = [title, `License: ${license}`, ...(author === undefined ? [] : [`Author: ${author}`])]
  return [facts.join('\n'), ...(one.texts.length > 0 ? one.texts : [replacement(one, all)])].join('\n\n')
}

/** Returns the license's text for a package that ships none. */
function replacement({ title, license, author }: Package, all: readonly Package[]): string {
  if (license === 'MIT' && author !== undefined) return `Copyright (c) ${author}\n\n${MIT}`
  // The text of this license is the same for all packages.
  const same = all.find((other) => license === 'Apache-2.0' && other.license === license && other.texts.length > 0)
  if (same) return `The package has no file with its license. The text of Apache-2.0 is below ${same.title}.`
  throw new Error(`${title} has no license file (${license}). Use another package, or a version with one.`)
}

function authorOf({ author }: Record<string, unknown>): string | undefined {
  const name = typeof author === 'object' && author !== null ? (author as { readonly name?: unknown }).name : author
  return typeof name === 'string' ? name : undefined
}
