import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** A schema change that a newer version may make: instances of this version ignore it. */
const STEP = `
  ALTER TABLE station ADD COLUMN remark text NOT NULL DEFAULT '';
  ALTER TABLE ring ADD COLUMN heard_by text;
  ALTER TABLE push_due ADD COLUMN urgent boolean NOT NULL DEFAULT false;
  CREATE TABLE remark (station text PRIMARY KEY, text text NOT NULL);
`

/** The sidecar of a version to come. */
export interface NewerVersion {
  /** The file to start. */
  readonly main: string
  remove(): Promise<void>
}

/** Makes a copy of this version with one more schema step. */
export async function makeNewerVersion(): Promise<NewerVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-newer-'))
  for (const part of ['sidecar', 'package.json', 'tsconfig.json'])
    await cp(part, join(folder, part), { recursive: true })
  await symlink(resolve('node_modules'), join(folder, 'node_modules'))
  const schema = join(folder, 'sidecar/store/postgres/schema/schema-version.ts')
  const text = await readFile(schema, 'utf8')
  const longer = text.replace(/\[\]\s*$/, `[${JSON.stringify(STEP)}]\n`)
  if (longer === text) throw new Error(`${schema} does not end as it used to`)
  await writeFile(schema, longer)
  return {
    main: join(folder, 'sidecar/main.ts'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
