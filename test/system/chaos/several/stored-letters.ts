import pg from 'pg'

/** Counts distinct texts, because each message has its own. Slots without a message have no text. */
const STORED = `
  SELECT count(DISTINCT text)::int AS stored FROM mesh_companion.ring
  WHERE substring(convert_from(text, 'UTF8') FROM '[0-9]+')::int < $1`

/**
 * Returns how many of the first `count` messages are stored. Queries the database directly, because sidecars and phones
 * may be slow.
 */
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
