import { runMatrix } from '../matrix/run-matrix.ts'
import { lemonldap } from './lemonldap.ts'

runMatrix(lemonldap)
