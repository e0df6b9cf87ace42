import { runMatrix } from '../matrix/run-matrix.ts'
import { betterAuth } from './better-auth.ts'

runMatrix(betterAuth)
