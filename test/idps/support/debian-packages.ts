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
 * Downloads Debian packages with missing dependencies, and unpacks them into a folder instead of installing them. So no
 * service starts, no user is created, and the machine stays unchanged. Later runs reuse the folder.
 *
 * @param folder only for these packages, kept between runs
 * @param backports whether to prefer the release's backports
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
  // The folder gets this name only once it is complete.
  const root = join(folder, `root-${choice}`)
  if (await exists(root)) return { kind: 'unpacked', root }
  await mkdir(folder, { recursive: true })
  // Test files run in parallel, and some need the same packages.
  const workFolder = await mkdtemp(join(folder, 'part-'))
  try {
    return await unpackInto(root, workFolder, packages, backports)
  } finally {
    await rm(workFolder, { recursive: true, force: true })
  }
}

/** Unpacks into `workFolder` and renames the result to `root`, unless another process did so first. */
async function unpackInto(
  root: string,
  workFolder: string,
  packages: readonly string[],
  backports: boolean,
): Promise<Unpacked> {
  for (const name of ['lists/partial', 'cache/archives/partial', 'part']) {
    await mkdir(join(workFolder, name), { recursive: true })
  }
  try {
    const release = await sources(workFolder, backports)
    // Uses its own package lists and archives, so that it needs neither those of the machine nor their locks.
    const options = [
      ...[`Dir::State::lists=${join(workFolder, 'lists')}`, `Dir::Cache=${join(workFolder, 'cache')}`],
      ...[
        `Dir::Etc::sourcelist=${join(workFolder, 'sources.list')}`,
        'Debug::NoLocking=true',
        'APT::Sandbox::User=root',
      ],
    ].flatMap((option) => ['-o', option])
    const apt = (...words: string[]) =>
      run('apt-get', [...options, '-y', '-qq', '--no-install-recommends', ...words], { timeout: LIMIT_MS })
    await apt('update')
    await apt('install', '--download-only', ...(release === undefined ? [] : ['-t', release]), ...packages)
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error)
    return { kind: 'missing', reason: `Debian gives no ${packages[0]}: ${output.trim().split('\n').at(-1)}` }
  }
  const archives = join(workFolder, 'cache/archives')
  for (const name of (await readdir(archives)).filter((file) => file.endsWith('.deb'))) {
    await run('dpkg-deb', ['-x', join(archives, name), join(workFolder, 'part')], { timeout: LIMIT_MS })
  }
  await rename(join(workFolder, 'part'), root).catch(async (error) => {
    if (!(await exists(root))) throw error
  })
  return { kind: 'unpacked', root }
}

/** A program from Debian, and how to start it. */
export interface DebianProgram {
  readonly command: string
  readonly env: Readonly<Record<string, string>>
  /** The folder that stands for `/`. */
  readonly root: string
}

/**
 * Finds a program on the machine, or unpacks its package.
 *
 * @param place name of the folder that keeps the package
 * @param name name of the program if it differs from the package's
 * @returns the reason as a string if there is none
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

/**
 * Writes the list of the machine's package sources, with its release's backports if requested. @returns the name of the
 * backports
 */
async function sources(folder: string, backports: boolean): Promise<string | undefined> {
  const machineSources = await readFile('/etc/apt/sources.list', 'utf8').catch(() => '')
  const list = join(folder, 'sources.list')
  if (!backports) {
    await writeFile(list, machineSources)
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
  await writeFile(list, `${machineSources}\ndeb ${repository.split(' ')[0]} ${release} main\n`)
  return release
}

/** Returns the folders below the root that match a pattern; `*` stands for any one name. */
export async function foldersBelow(root: string, pattern: string): Promise<readonly string[]> {
  let folders: readonly string[] = [root]
  for (const part of pattern.split('/')) {
    const next = await Promise.all(
      folders.map(async (folder) => {
        if (part !== '*') return [join(folder, part)]
        return (await readdir(folder)).map((name) => join(folder, name))
      }),
    )
    const existing = await Promise.all(next.flat().map(async (path) => ((await exists(path)) ? [path] : [])))
    folders = existing.flat()
  }
  return folders
}
