/** Options of Node.js for a process that runs TypeScript. It needs no `tsx`, which takes longer to start. */
export const TYPESCRIPT = ['--import', new URL('register.mjs', import.meta.url).href] as const
