/**
 * Maps each group rule to its names in other programs, in lower case and without separators. An unrecognized rule would
 * be ignored and admit every user.
 */
const OUR_NAMES: Readonly<Record<string, readonly string[]>> = {
  'groups.required': [
    'requiredgroups',
    'requiredgroup',
    'requiregroups',
    'requiregroup',
    'allowedgroups',
    'allowedgroup',
    'allowgroups',
    'allowgroup',
    'groupsallowed',
    'groupallowlist',
    'groupsallowlist',
    'groupwhitelist',
    'groupswhitelist',
    'authorizedgroups',
    'permittedgroups',
    'accessgroups',
    'accessgroup',
    'membergroups',
    'logingroups',
    'requiredroles',
    'requiredrole',
    'allowedroles',
    'allowedrole',
  ],
  'groups.siteadmin': [
    'admingroups',
    'admingroup',
    'adminsgroup',
    'administratorgroups',
    'administratorgroup',
    'administratorsgroup',
    'siteadmingroups',
    'siteadmingroup',
    'superusergroups',
    'superusergroup',
    'admins',
    'admin',
    'administrators',
    'adminroles',
    'adminrole',
    'adminuserrole',
  ],
  'groups.claim': [
    'groupsclaim',
    'groupclaim',
    'groupsclaimname',
    'groupsattribute',
    'groupattribute',
    'groupsattributepath',
    'roleattributepath',
    'groupsfield',
    'groupskey',
    'rolesclaim',
    'roleclaim',
    'claimname',
  ],
  'groups.scope': ['groupscope', 'groupsscope'],
  'groups.sync': ['groupsync', 'groupssync', 'syncgroups', 'syncgroup', 'mirrorgroups'],
  'groups.sync.filter': ['groupfilter', 'groupsfilter', 'syncfilter'],
  'groups.rights': ['grouprights', 'grouppermissions', 'groupmapping', 'groupsmapping', 'rolemapping'],
}

const BY_NAME: ReadonlyMap<string, string> = new Map(
  Object.entries(OUR_NAMES).flatMap(([ours, theirs]) => theirs.map((name) => [name, ours] as const)),
)

/**
 * Returns this plugin's name for a group rule of another program, such as `groups.required` for `allowed_groups`.
 * Returns undefined for any other name.
 */
export function ourNameOf(written: string): string | undefined {
  return BY_NAME.get(written.toLowerCase().replace(/[\s._-]+/g, ''))
}
