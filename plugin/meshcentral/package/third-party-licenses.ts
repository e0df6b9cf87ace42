import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Files with a license's text, or with notices that must be passed on with it. */
const TEXT_FILE = /^(licen[cs]e|copying|notice|authors)\b/i
const LICENSE_FILE = /^(licen[cs]e|copying)\b/i
const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/
const RULE = '-'.repeat(80)
const HEAD = `The plugin contains code of the following packages. Its own license is in the file LICENSE.`

/**
 * Returns the text of the file `THIRD-PARTY-LICENSES`. It lists each package in the bundle with its version, its
 * license and the full texts. The licenses demand that these texts are shipped with the code.
 *
 * @param inputs the bundled files, as in esbuild's metafile
 * @param root the folder to which the paths in `inputs` are relative
 * @throws Error if a package has no license file
 */
export async function thirdPartyLicenses(inputs: readonly string[], root: string): Promise<string> {
  const folders = new Set(inputs.flatMap((name) => PACKAGE_FOLDER.exec(name.replaceAll('\\', '/'))?.[0] ?? []))
  const entries = await Promise.all([...folders].map((folder) => entryOf(join(root, folder))))
  return [HEAD, ...new Set(entries.sort())].join(`\n\n${RULE}\n`)
}

async function entryOf(folder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
  const title = `${manifest.name} ${manifest.version}`
  const files = (await readdir(folder)).filter((name) => TEXT_FILE.test(name)).sort()
  if (!files.some((name) => LICENSE_FILE.test(name)))
    throw new Error(
      `${title} has no license file, and the plugin would ship its code. Use another package, or a version with one.`,
    )
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
  const facts = [title, `License: ${manifest.license}`, ...authorOf(manifest)]
  return [facts.join('\n'), ...texts.map((text) => text.replaceAll('\r\n', '\n').trim())].join('\n\n')
}

function authorOf({ author }: Record<string, unknown>): readonly string[] {
  const name = typeof author === 'object' && author !== null ? (author as { readonly name?: unknown }).name : author
  return typeof name === 'string' ? [`Author: ${name}`] : []
}
