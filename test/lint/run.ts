import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { patternsIn } from './regular-expressions.ts'
import { superLinear } from './super-linear.ts'

/**
 * `npm run lint`: runs Biome, then checks that no regular expression of either half takes more than linear time. Input
 * from strangers reaches many of them, and a server has only one thread.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BIOME = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')

function problemsIn(file: string): readonly string[] {
  return patternsIn(readFileSync(join(ROOT, file), 'utf8'), file).flatMap(({ line, pattern, flags }) => {
    const why = superLinear(pattern, flags)
    return why === undefined ? [] : [`${file}:${line}: /${pattern}/${flags} may take more than linear time: ${why}`]
  })
}

const biome = spawn(process.execPath, [BIOME, 'check', '--error-on-warnings', '.'], { cwd: ROOT, stdio: 'inherit' })
const ended = once(biome, 'close')
const sources = ['plugin', 'sidecar'].flatMap((half) =>
  readdirSync(join(ROOT, half), { recursive: true, encoding: 'utf8' }).map((file) => join(half, file)),
)
const problems = sources.filter((file) => /\.[cm]?[jt]s$/.test(file)).flatMap(problemsIn)
const [code] = await ended
for (const problem of problems) process.stderr.write(`${problem}\n`)
process.exitCode = problems.length > 0 || code !== 0 ? 1 : 0
