import { readdirSync, writeFileSync } from 'node:fs'
import { checkToTheEnd } from './doctor/check.ts'
import { readTextFile } from './mount/read-text-file.ts'

for (const stream of [process.stdout, process.stderr]) {
  // Ignore EPIPE, because a reader such as `head` may close the pipe early. That is not a failure.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}
process.exitCode = await checkToTheEnd(process.argv.slice(2), {
  read: readTextFile,
  list: (folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/')),
  create: (file, text) => writeFileSync(file, text, { flag: 'wx', mode: 0o600 }),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
