-- Describes the first right that the user lacks to start the sidecar; no row if the user has all rights. $1: the tables
-- and functions that a start creates, replaces or writes.
WITH schema AS (SELECT to_regnamespace('mesh_companion' /* SCHEMA */) AS oid)
SELECT format('%s may not create a schema in the database %s', current_user, current_database()) AS missing
  FROM schema WHERE oid IS NULL AND NOT has_database_privilege(current_database(), 'CREATE')
UNION ALL
SELECT format('the schema %s belongs to %s, and %s may not create in it',
    nspname, pg_get_userbyid(nspowner), current_user)
  FROM pg_namespace JOIN schema USING (oid)
  WHERE NOT (has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE'))
UNION ALL
SELECT format('the function %s belongs to %s, and not to %s', proname, pg_get_userbyid(proowner), current_user)
  FROM pg_proc JOIN schema ON pronamespace = schema.oid WHERE proname = ANY ($1) AND NOT pg_has_role(proowner, 'USAGE')
UNION ALL
SELECT format('the table %s belongs to %s, and %s may not write to it',
    relname, pg_get_userbyid(relowner), current_user)
  FROM pg_class AS created JOIN schema ON relnamespace = schema.oid
  WHERE relname = ANY ($1) AND NOT (
    has_table_privilege(created.oid, 'SELECT') AND has_table_privilege(created.oid, 'INSERT')
    AND has_table_privilege(created.oid, 'UPDATE') AND has_table_privilege(created.oid, 'DELETE'))
LIMIT 1
