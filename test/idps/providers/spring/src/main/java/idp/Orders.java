package idp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.springframework.security.core.session.SessionInformation;
import org.springframework.security.core.session.SessionRegistry;
import org.springframework.security.oauth2.server.authorization.OAuth2AuthorizationConsentService;
import org.springframework.stereotype.Component;

/** What an administrator does, one JSON line each: `{ id, verb, with }`, answered by `{ answer: id, value }` or `{ answer: id, error }`. */
@Component
public class Orders {
  private final ObjectMapper json = new ObjectMapper();
  private final Registry registry;
  private final Listeners listeners;
  private final SessionRegistry sessions;

  private final OAuth2AuthorizationConsentService consents;

  Orders(Registry registry, Listeners listeners, SessionRegistry sessions, OAuth2AuthorizationConsentService consents) {
    this.registry = registry;
    this.listeners = listeners;
    this.sessions = sessions;
    this.consents = consents;
  }

  /** Until the input ends: whoever started this program is gone then. */
  void serve(InputStream input, PrintStream output, CountDownLatch ended) {
    var lines = new BufferedReader(new InputStreamReader(input, StandardCharsets.UTF_8));
    new Thread(
            () -> {
              lines.lines().forEach((line) -> output.println(answer(line)));
              ended.countDown();
            })
        .start();
  }

  private String answer(String line) {
    var said = new LinkedHashMap<String, Object>();
    try {
      var order = json.readTree(line);
      said.put("answer", order.get("id").asInt());
      said.put("value", carryOut(order.get("verb").asText(), order.get("with")));
    } catch (Exception refused) {
      said.put("error", String.valueOf(refused));
    }
    return json.valueToTree(said).toString();
  }

  private Object carryOut(String verb, JsonNode with) throws Exception {
    switch (verb) {
      case "listen" -> listeners.start();
      case "away" -> listeners.stop();
      case "clear" -> {
        registry.clear();
        sessions.getAllPrincipals().forEach((who) -> sessions.getAllSessions(who, true).forEach(this::forget));
      }
      case "rotate" -> registry.rotateKeys();
      case "client" -> {
        var known = registry.findByClientId(with.get("client_id").asText());
        registry.save(Clients.from(with, known == null ? UUID.randomUUID().toString() : known.getId()));
      }
      case "person" -> registry.put(json.treeToValue(with, Registry.Person.class));
      case "delete" -> registry.remove(with.asText());
      case "revokeConsent" -> consents.remove(consents.findById(registry.findByClientId("mesh").getId(), with.asText()));
      case "endSessions" ->
          sessions.getAllSessions(registry.loadUserByUsername(with.asText()), false).forEach(SessionInformation::expireNow);
      case "sessions" -> {
        var user = registry.loadUserByUsername(with.asText());
        return sessions.getAllSessions(user, false).size();
      }
      default -> throw new IllegalArgumentException(verb);
    }
    return null;
  }

  private void forget(SessionInformation session) {
    sessions.removeSessionInformation(session.getSessionId());
  }
}
