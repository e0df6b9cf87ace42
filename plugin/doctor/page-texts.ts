import { escapeMarkup } from '../routes/markup.ts'

/** Formats a text in which backticks mark code. */
export function prose(text: string): string {
  return escapeMarkup(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

/** Renders a time in UTC. The page's script replaces it with the reader's time zone and format. */
export function time(ms: number): string {
  const iso = new Date(ms).toISOString()
  return `<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`
}
