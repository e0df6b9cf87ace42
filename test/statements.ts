import { readCommandLine } from '../fixtures/command-line.ts'
import { readStatements, readTags } from './support/statements.ts'

const USAGE = `Usage: npm run statements [-- ID …]

Prints each statement of the specifications with the tests that show it.

  ID  only these statements, such as "sidecar C3.1", or all that begin so: "sidecar C3."`

const { positionals } = readCommandLine(USAGE, {}, { allowPositionals: true })
const tags = readTags()
const isChosen = (id: string) => positionals.length === 0 || positionals.some((start) => id.startsWith(start))

for (const { id, cells } of readStatements().filter((statement) => isChosen(statement.id))) {
  process.stdout.write(`${id}: ${cells.filter((cell) => cell !== '').join(': ')}\n`)
  for (const { ids, file, line, title } of tags)
    if (ids.includes(id)) process.stdout.write(`  ${file}:${line} ${title}\n`)
}
