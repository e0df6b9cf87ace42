export { type Postgres, startPostgres } from '../../fixtures/postgres.ts'
