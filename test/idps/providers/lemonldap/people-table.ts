import sqlite3 from 'sqlite3'
import { fullName, type Person } from '../../support/people.ts'

/** The database in which the portal looks people up: a table that any program may write to. */
export interface PeopleTable {
  /** Everybody is forgotten but these. */
  replace(people: readonly Person[]): Promise<void>
  set(person: Person): Promise<void>
  remove(person: Person): Promise<void>
  close(): Promise<void>
}

const SCHEMA = 'CREATE TABLE people (uid TEXT PRIMARY KEY, password TEXT, cn TEXT, mail TEXT, groups TEXT)'

export async function createPeopleTable(file: string): Promise<PeopleTable> {
  const database = new sqlite3.Database(file)
  const run = (statement: string, values: readonly string[] = []) =>
    new Promise<void>((resolve, reject) => {
      database.run(statement, values, (error) => (error ? reject(error) : resolve()))
    })
  await run(SCHEMA)
  const set = (person: Person) => {
    const { username, password, email, groups } = person
    // `; ` is what the portal splits values at.
    const row = [username, password, fullName(person), email, groups.join('; ')]
    return run('INSERT OR REPLACE INTO people VALUES (?, ?, ?, ?, ?)', row)
  }
  return {
    set,
    async replace(people) {
      await run('DELETE FROM people')
      for (const person of people) await set(person)
    },
    remove: ({ username }) => run('DELETE FROM people WHERE uid = ?', [username]),
    close: () =>
      new Promise((resolve, reject) => {
        database.close((error) => (error ? reject(error) : resolve()))
      }),
  }
}
