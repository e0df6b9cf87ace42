-- Sets or clears the avatar of a station. If the avatar is unchanged, `updated_at` is too. If a station that never had
-- an avatar clears it, no row is created.
CREATE OR REPLACE FUNCTION set_avatar(its_station text, its_icon text, its_image text, its_hash text, stamp bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF its_icon = '' AND its_image = '' THEN
    UPDATE avatar SET icon = '', hash = '', image = '', updated_at = stamp WHERE station = its_station AND hash <> '';
  ELSE
    INSERT INTO avatar (station, icon, hash, updated_at, image)
      VALUES (its_station, its_icon, its_hash, stamp, its_image)
    ON CONFLICT (station) DO UPDATE
      SET icon = excluded.icon, hash = excluded.hash, updated_at = excluded.updated_at, image = excluded.image
      WHERE avatar.hash <> excluded.hash;
  END IF;
END $$;
