export { type MeshCompanion, meshcompanion } from './meshcentral/plugin.ts'
