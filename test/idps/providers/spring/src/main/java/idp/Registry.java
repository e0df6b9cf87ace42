package idp;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.proc.SecurityContext;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.core.userdetails.UsernameNotFoundException;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClient;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClientRepository;
import org.springframework.stereotype.Component;

/** Clients, people and signing keys, in memory. */
@Component
public class Registry implements RegisteredClientRepository, UserDetailsService, JWKSource<SecurityContext> {
  /** Somebody who can sign in. */
  public record Person(
      String username, String password, String email, String givenName, String familyName, List<String> groups, boolean disabled) {}

  private final Map<String, RegisteredClient> clients = new ConcurrentHashMap<>();
  private final Map<String, Person> people = new ConcurrentHashMap<>();
  private volatile JWKSet keys = makeKeys();

  public void clear() {
    clients.clear();
    people.clear();
  }

  /** The old keys are withdrawn at once. */
  public void rotateKeys() {
    keys = makeKeys();
  }

  public void put(Person person) {
    people.put(person.username(), person);
  }

  public void remove(String username) {
    people.remove(username);
  }

  public Person person(String username) {
    return people.get(username);
  }

  @Override
  public void save(RegisteredClient client) {
    clients.put(client.getId(), client);
  }

  @Override
  public RegisteredClient findById(String id) {
    return clients.get(id);
  }

  @Override
  public RegisteredClient findByClientId(String clientId) {
    return clients.values().stream().filter((client) -> client.getClientId().equals(clientId)).findAny().orElse(null);
  }

  @Override
  public UserDetails loadUserByUsername(String username) {
    var person = people.get(username);
    if (person == null) throw new UsernameNotFoundException(username);
    return User.withUsername(username).password(person.password()).disabled(person.disabled()).authorities("person").build();
  }

  @Override
  public List<JWK> get(JWKSelector selector, SecurityContext context) {
    return selector.select(keys);
  }

  private static JWKSet makeKeys() {
    try {
      // Its encoder picks by `alg`, and not by the curve.
      return new JWKSet(
          List.of(
              new RSAKeyGenerator(2048).keyID(UUID.randomUUID().toString()).generate(),
              curveKey(Curve.P_256, JWSAlgorithm.ES256),
              curveKey(Curve.P_384, JWSAlgorithm.ES384),
              curveKey(Curve.P_521, JWSAlgorithm.ES512)));
    } catch (JOSEException cause) {
      throw new IllegalStateException(cause);
    }
  }

  private static JWK curveKey(Curve curve, JWSAlgorithm algorithm) throws JOSEException {
    return new ECKeyGenerator(curve).keyID(UUID.randomUUID().toString()).algorithm(algorithm).generate();
  }
}
