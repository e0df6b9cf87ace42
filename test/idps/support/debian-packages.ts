import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { exists } from './kept.ts'
import { scratchFor } from './scratch.ts'

const run = promisify(execFile)
const LIMIT_MS = 240_000

export type Unpacked =
  | { readonly kind: 'unpacked'; readonly root: string }
  | { readonly kind: 'missing'; readonly reason: string }

/**
 * Fetches packages of Debian, with all that they need and the machine does not have, and unpacks them below a folder
 * instead of installing them: so no service is started, no user is made, and the machine stays as it is. Once; later
 * runs find them there.
 *
 * @param folder of its own, kept between runs
 * @param backports whether they are taken from the release's backports, where those have them
 * @returns the folder that stands for `/`
 */
export async function unpackPackages(
  folder: string,
  packages: readonly string[],
  { backports = false } = {},
): Promise<Unpacked> {
  const choice = createHash('sha256')
    .update(`${packages.join(' ')} ${backports}`)
    .digest('hex')
    .slice(0, 8)
  // It gets this name when it is whole.
  const root = join(folder, `root-${choice}`)
  if (await exists(root)) return { kind: 'unpacked', root }
  await mkdir(folder, { recursive: true })
  // Files of tests run side by side, and some need the same.
  const own = await mkdtemp(join(folder, 'part-'))
  try {
    return await unpackInto(root, own, packages, backports)
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}

/** Puts what was unpacked in the folder `own` in the place of `root`, unless somebody else was quicker. */
async function unpackInto(
  root: string,
  own: string,
  packages: readonly string[],
  backports: boolean,
): Promise<Unpacked> {
  for (const name of ['lists/partial', 'cache/archives/partial', 'part']) {
    await mkdir(join(own, name), { recursive: true })
  }
  try {
    const release = await sources(own, backports)
    // Lists and archives of its own: neither the machine's nor a lock on them.
    const options = [
      ...[`Dir::State::lists=${join(own, 'lists')}`, `Dir::Cache=${join(own, 'cache')}`],
      ...[`Dir::Etc::sourcelist=${join(own, 'sources.list')}`, 'Debug::NoLocking=true', 'APT::Sandbox::User=root'],
    ].flatMap((option) => ['-o', option])
    const apt = (...words: string[]) =>
      run('apt-get', [...options, '-y', '-qq', '--no-install-recommends', ...words], { timeout: LIMIT_MS })
    await apt('update')
    await apt('install', '--download-only', ...(release === undefined ? [] : ['-t', release]), ...packages)
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error)
    return { kind: 'missing', reason: `Debian gives no ${packages[0]}: ${said.trim().split('\n').at(-1)}` }
  }
  const archives = join(own, 'cache/archives')
  for (const name of (await readdir(archives)).filter((file) => file.endsWith('.deb'))) {
    await run('dpkg-deb', ['-x', join(archives, name), join(own, 'part')], { timeout: LIMIT_MS })
  }
  await rename(join(own, 'part'), root).catch(async (error) => {
    if (!(await exists(root))) throw error
  })
  return { kind: 'unpacked', root }
}

/** A program of Debian, and what it has to be started with. */
export interface DebianProgram {
  readonly command: string
  readonly env: Readonly<Record<string, string>>
  /** The folder that stands for `/`. */
  readonly root: string
}

/**
 * That of the machine, or else unpacked beside the system.
 *
 * @param place what the folder is called that it is kept in
 * @param name of the program, where that is not the package's
 * @returns why there is none, as a text
 */
export async function findDebianProgram(
  place: string,
  packages: readonly string[],
  name = String(packages[0]),
): Promise<DebianProgram | string> {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']) {
    if (await exists(join(folder, name))) return { command: join(folder, name), env: {}, root: '/' }
  }
  const unpacked = await unpackPackages(await scratchFor(place), packages)
  if (unpacked.kind === 'missing') return unpacked.reason
  const { root } = unpacked
  const env = { LD_LIBRARY_PATH: (await foldersBelow(root, 'usr/lib/*')).join(delimiter) }
  for (const folder of ['usr/sbin', 'usr/bin']) {
    const command = join(root, folder, name)
    if (await exists(command)) return { command, env, root }
  }
  return `Debian's packages have no ${name}`
}

/** The machine's own sources, and its release's backports. @returns the name of the backports */
async function sources(folder: string, backports: boolean): Promise<string | undefined> {
  const own = await readFile('/etc/apt/sources.list', 'utf8').catch(() => '')
  const list = join(folder, 'sources.list')
  if (!backports) {
    await writeFile(list, own)
    return undefined
  }
  const codename = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1] ?? ''
  const { stdout } = await run('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI) $(RELEASE)',
    'Created-By: Packages',
  ])
  const repository = stdout.split('\n').find((line) => line.endsWith(` ${codename}`))
  if (repository === undefined) throw new Error(`no sources of the release ${codename}`)
  const release = `${codename}-backports`
  await writeFile(list, `${own}\ndeb ${repository.split(' ')[0]} ${release} main\n`)
  return release
}

/** Folders below the root that a pattern of names leads to; `*` stands for any one. */
export async function foldersBelow(root: string, pattern: string): Promise<readonly string[]> {
  let found: readonly string[] = [root]
  for (const part of pattern.split('/')) {
    const next = await Promise.all(
      found.map(async (folder) => {
        if (part !== '*') return [join(folder, part)]
        return (await readdir(folder)).map((name) => join(folder, name))
      }),
    )
    const there = await Promise.all(next.flat().map(async (path) => ((await exists(path)) ? [path] : [])))
    found = there.flat()
  }
  return found
}
