import { runMatrix } from '../matrix/run-matrix.ts'
import { keycloak } from './keycloak.ts'

runMatrix(keycloak)
