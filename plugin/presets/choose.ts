import type { PresetName, PresetUrls } from '../config/settings.ts'
import { azurePreset } from './azure.ts'
import { googlePreset } from './google.ts'
import type { Preset } from './preset.ts'
import { standard } from './standard.ts'
import type { VendorFetch } from './vendor-api.ts'

/** The preset of that name; `standard` where there is none. */
export function choosePreset(name: PresetName | null, urls: PresetUrls, fetch: VendorFetch): Preset {
  switch (name) {
    case 'google':
      return googlePreset(urls.google?.cloudIdentity ?? 'https://cloudidentity.googleapis.com', fetch)
    case 'azure':
      return azurePreset(urls.azure?.graph ?? 'https://graph.microsoft.com', fetch)
    case null:
      return standard
  }
}
