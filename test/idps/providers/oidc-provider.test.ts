import { runMatrix } from '../matrix/run-matrix.ts'
import { oidcProvider } from './oidc-provider.ts'

runMatrix(oidcProvider)
