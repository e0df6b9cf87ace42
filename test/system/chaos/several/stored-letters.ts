import pg from 'pg'

/** Their texts tell them apart. A place without a message has none. */
const STORED = `
  SELECT count(DISTINCT text)::int AS stored FROM mesh_companion.ring
  WHERE substring(convert_from(text, 'UTF8') FROM '[0-9]+')::int < $1`

/** How many of the first `count` letters the database has, asked beside the sidecars and phones: these may be slow. */
export async function storedLetters(database: string, count: number): Promise<number> {
  const client = new pg.Client(database)
  await client.connect()
  try {
    const { rows } = await client.query<{ stored: number }>(STORED, [count])
    return rows[0]?.stored ?? 0
  } finally {
    await client.end()
  }
}
