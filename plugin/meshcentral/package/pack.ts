import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import standaloneCode from 'ajv/dist/standalone/index.js'
import { build, type Plugin } from 'esbuild'
import { zipSync } from 'fflate'
import { billOfMaterials } from '../../../fixtures/packaging/bill-of-materials.ts'
import { packageFolders, thirdPartyLicenses } from '../../../fixtures/packaging/third-party-licenses.ts'
import { createAjv } from '../../config/rules/schema/compile-schema.ts'
import { oidcSchema } from '../../config/rules/schema/schema.ts'
import { mistakeIn } from '../../doctor/command/mistaken-option.ts'
import { PRESETS } from '../../presets/all.ts'

const USAGE = `Usage: npm run pack:meshcentral -- [--url BASE]

Makes dist/meshcentral-plugin/meshcompanion/ and meshcompanion.zip.

  --url BASE  the address below which config.json and the zip will be published, for MeshCentral's plugin page
`

/**
 * This script builds the folder that administrators copy into MeshCentral's `plugins` folder, and a zip of the same
 * content. All code is in one CommonJS file, because a bare `require('openid-client')` would find the older version
 * that MeshCentral installs for itself.
 *
 * MeshCentral's plugin page installs plugins from a web server. `BASE` is the address of `config.json` and the zip
 * there. Without `BASE`, the manifest contains no address, so MeshCentral offers no update.
 */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const NAME = 'meshcompanion'
const PLACE = join(ROOT, 'dist/meshcentral-plugin')
const FOLDER = join(PLACE, NAME)

/**
 * Compiles the schema at build time. Compiling at load time took as long as loading the rest of the plugin, and needed
 * all of Ajv.
 */
const compiledSchema: Plugin = {
  name: 'compiled-schema',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]compile-schema\.ts$/ }, () => {
      const ajv = createAjv({ source: true, esm: true })
      const code = standaloneCode.default(ajv, ajv.compile(oidcSchema(PRESETS)))
      return { contents: `${code}\nexport const compileSchema = () => validate\n`, loader: 'js', resolveDir: ROOT }
    })
  },
}

const { url } = readArguments()
const { version, license } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Record<string, string>
const manifest = JSON.parse(await readFile(new URL('config.json', import.meta.url), 'utf8')) as object

const { outputFiles, metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: ['plugin/meshcentral.ts'],
  bundle: true,
  write: false,
  metafile: true,
  outfile: join(FOLDER, `${NAME}.js`),
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  plugins: [compiledSchema],
  legalComments: 'inline',
  logLevel: 'warning',
})
const inputs = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs))
const description = 'OpenID Connect single sign-on for MeshCentral'
const notices = 'The plugin contains code of the following packages. Its own license is in the file LICENSE.'
const files: Record<string, Uint8Array> = {
  [`${NAME}.js`]: outputFiles[0]?.contents ?? new Uint8Array(),
  'config.json': json({ ...manifest, version, ...(url === undefined ? {} : placesBelow(url)) }),
  // Without this file, a package.json in a folder above would decide whether `.js` is CommonJS.
  'package.json': json({ name: NAME, version, license, type: 'commonjs', main: `${NAME}.js`, private: true }),
  LICENSE: await readFile(join(ROOT, 'LICENSE')),
  'THIRD-PARTY-LICENSES': Buffer.from(await thirdPartyLicenses(notices, inputs, ROOT)),
  'sbom.cdx.json': Buffer.from(
    await billOfMaterials({ name: NAME, version: String(version), description }, packageFolders(inputs), ROOT),
  ),
}

await rm(PLACE, { recursive: true, force: true })
await mkdir(FOLDER, { recursive: true })
for (const [name, bytes] of Object.entries(files)) await writeFile(join(FOLDER, name), bytes)
// MeshCentral unpacks the top folder's content into a folder with the plugin's name. The time is fixed, so that the
// same sources always result in the same zip.
const zipped = zipSync(Object.fromEntries(Object.entries(files).map(([name, bytes]) => [`${NAME}/${name}`, bytes])), {
  mtime: new Date('1980-01-01T00:00:00'),
  // A plain Unix file with mode 644, which MeshCentral gives to the unpacked file.
  os: 3,
  attrs: 0o100644 << 16,
})
await writeFile(join(PLACE, `${NAME}.zip`), zipped)
process.stdout.write(`${join('dist/meshcentral-plugin', NAME)}/ and ${NAME}.zip, version ${version}\n`)

/** Reads the arguments. Ends the process for `--help` and for mistakes. */
function readArguments(): { readonly url?: string | undefined } {
  const options = { url: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
  try {
    const { values } = parseArgs({ options })
    if (values.url !== undefined && !URL.canParse(values.url)) throw new Error('--url must be an address')
    if (!values.help) return values
    process.stdout.write(USAGE)
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${mistakeIn(error, Object.keys(options))}\n\n${USAGE}`)
    process.exit(64)
  }
}

function placesBelow(base: string): object {
  const addressOf = (name: string) => new URL(name, base.endsWith('/') ? base : `${base}/`).href
  const downloadUrl = addressOf(`${NAME}.zip`)
  return { configUrl: addressOf('config.json'), downloadUrl, repository: { type: 'git', url: addressOf('') } }
}

function json(value: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
}
