import { openDatabase } from '../../../../fixtures/host/database.ts'
import { fullName, type Person } from '../../support/people.ts'

/** Creates the table in which the portal looks up users. Any program may write to it. */
export async function createPeopleTable(file: string) {
  const { run, close } = await openDatabase(file)
  await run('CREATE TABLE people (uid TEXT PRIMARY KEY, password TEXT, cn TEXT, mail TEXT, groups TEXT)')
  const set = async (person: Person) => {
    const { username, password, email, groups } = person
    // The portal splits values at `; `.
    const row = [username, password, fullName(person), email, groups.join('; ')]
    await run('INSERT OR REPLACE INTO people VALUES (?, ?, ?, ?, ?)', ...row)
  }
  return {
    set,
    /** Replaces all people by these. */
    async replace(people: readonly Person[]) {
      await run('DELETE FROM people')
      for (const person of people) await set(person)
    },
    remove: async ({ username }: Person) => void (await run('DELETE FROM people WHERE uid = ?', username)),
    close,
  }
}
