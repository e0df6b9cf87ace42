export { type Postgres, startPostgres } from '../../fixtures/demo/postgres.ts'
