import { runMatrix } from '../matrix/run-matrix.ts'
import { canaille } from './canaille.ts'

runMatrix(canaille)
