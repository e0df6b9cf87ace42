import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The largest output of npm that is read; one for all packages of this project has under 1 MB. */
const MAX_BYTES = 32_000_000

/** The packed file that a bill of materials describes. */
export interface PackedFile {
  readonly name: string
  readonly version: string
  readonly description: string
}

interface Dependencies {
  readonly ref: string
  readonly dependsOn: readonly string[]
}

interface Component {
  readonly 'bom-ref': string
  readonly properties: readonly { readonly name: string }[]
}

interface Bom {
  readonly $schema: string
  readonly bomFormat: string
  readonly specVersion: string
  readonly version: number
  readonly metadata: { readonly tools: unknown; readonly component: { readonly 'bom-ref': string } }
  readonly components: readonly Component[]
  readonly dependencies: readonly Dependencies[]
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly name?: string; readonly version?: string }>>
}

/**
 * Returns the bill of materials of a packed file as JSON text: CycloneDX 1.5, made by `npm sbom`. The serial number and
 * the time are left out, so that the same packages always result in the same bytes.
 *
 * @param packed the file; its name may differ from the project's
 * @param folders the packages in the file: folders as in `package-lock.json`, such as `node_modules/pino`
 * @param root the project's folder
 */
export async function billOfMaterials(packed: PackedFile, folders: readonly string[], root: string): Promise<string> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock
  const shipped = new Set(folders.map((folder) => refOf(folder, lock)))
  const { $schema, bomFormat, specVersion, version, metadata, components, dependencies } = await npmSbom(root)
  const ref = `${packed.name}@${packed.version}`
  const own = metadata.component['bom-ref']
  const bom = {
    ...{ $schema, bomFormat, specVersion, version },
    metadata: {
      tools: metadata.tools,
      component: { ...metadata.component, 'bom-ref': ref, ...packed, purl: purl(packed) },
    },
    components: components.filter((component) => shipped.has(component['bom-ref'])).map(asShipped),
    dependencies: dependencies
      .filter((entry) => entry.ref === own || shipped.has(entry.ref))
      .map((entry) => ({
        ref: entry.ref === own ? ref : entry.ref,
        dependsOn: entry.dependsOn.filter((dependency) => shipped.has(dependency)),
      })),
  }
  const missing = [...shipped].filter((name) => !bom.components.some((component) => component['bom-ref'] === name))
  if (missing.length > 0) throw new Error(`npm sbom does not list ${missing.join(', ')}. Run "npm ci".`)
  return `${JSON.stringify(bom, null, 2)}\n`
}

/** Removes the mark of development packages, which says nothing about the packed file. */
function asShipped(component: Component): Component {
  const properties = component.properties.filter(({ name }) => name !== 'cdx:npm:package:development')
  return { ...component, properties }
}

async function npmSbom(root: string): Promise<Bom> {
  const command = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  const options = { cwd: root, maxBuffer: MAX_BYTES, shell: process.platform === 'win32' }
  const { stdout } = await promisify(execFile)('npm', command, options)
  return JSON.parse(stdout) as Bom
}

/** Returns the reference that `npm sbom` uses for a package. An alias has its own name in the lock. */
function refOf(folder: string, { packages }: Lock): string {
  const locked = packages[folder]
  if (!locked) throw new Error(`package-lock.json does not list ${folder}. Run "npm install".`)
  return `${locked.name ?? folder.replace(/^.*node_modules\//, '')}@${locked.version}`
}

function purl({ name, version }: PackedFile): string {
  return `pkg:npm/${name}@${version}`
}
