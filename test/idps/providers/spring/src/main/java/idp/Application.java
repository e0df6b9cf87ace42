package idp;

import java.util.concurrent.CountDownLatch;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** A Spring Authorization Server that takes its administrator's orders on its standard input. */
@SpringBootApplication
public class Application {
  public static void main(String[] args) throws Exception {
    var context = SpringApplication.run(Application.class, args);
    var ended = new CountDownLatch(1);
    context.getBean(Orders.class).serve(System.in, System.out, ended);
    ended.await();
    System.exit(0);
  }
}
