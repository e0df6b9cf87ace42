import { runMatrix } from '../matrix/run-matrix.ts'
import { glewlwyd } from './glewlwyd.ts'

runMatrix(glewlwyd)
