package ClientFiles;

# Relying parties from a folder, a JSON file each, looked at whenever one is asked for: so they are changed without a restart, and the keys
# that they publish are fetched when they are used and not when they are registered.

use strict;
use warnings;
use JSON qw(from_json);
use Lemonldap::NG::Portal::Main::Constants qw(PE_OK);
use Mouse;

extends 'Lemonldap::NG::Portal::Main::Plugin';

use constant hook => { getOidcRpConfig => 'read' };

sub init { return 1 }

sub read {
    my ( $self, $req, $client_id, $config ) = @_;

    # Below zero: never kept, not even that there is none.
    $config->{ttl} = -1;
    my $file = "$ENV{LLNG_CLIENTS}/" . unpack( 'H*', $client_id ) . '.json';
    open( my $handle, '<:encoding(UTF-8)', $file ) or return PE_OK;
    local $/;
    my $read = from_json( scalar <$handle> );
    close $handle;
    %$config = ( %$config, %$read );
    return PE_OK;
}

1;
