import { runMatrix } from '../matrix/run-matrix.ts'
import { spring } from './spring.ts'

runMatrix(spring)
